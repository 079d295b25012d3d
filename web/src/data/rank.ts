// Makes ranks as the server does: fractions in base 62 without their "0.", so that text order is number order. The page
// only guesses a rank, to show a move before the server answers.
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** rankBetween returns a rank after a and before b. An empty a is the beginning, an empty b is the end. */
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
    // a and b differ by one here: keep the lower digit. The digits after it have no upper limit any more.
    out += digits[low];
    b = '';
  }
}
