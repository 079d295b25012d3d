// Ranks as the server makes them: fractions in base 62 without their "0.", so that text order is number
// order. The page only guesses one, to show a move before the server answered.
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** rankBetween is a rank after a and before b; an empty a is the beginning, an empty b the end. */
export function rankBetween(a: string, b: string): string {
  let out = '';
  for (let i = 0; ; i++) {
    const low = i < a.length ? digits.indexOf(a[i] as string) : 0;
    const high = i < b.length ? digits.indexOf(b[i] as string) : digits.length;
    if (low === high) {
      out += digits[low];
      continue;
    }
    const middle = (low + high) >> 1;
    if (middle > low) return out + digits[middle];
    // Neighbours: keep the lower digit, and what follows has no upper bound any more.
    out += digits[low];
    b = '';
  }
}
