/**
 * splitArgs splits a line into arguments as a shell does, with quotes and backslashes only. Null: a quote is not
 * closed.
 */
export function splitArgs(line: string): string[] | null {
  const args: string[] = [];
  let current: string | null = null;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i] as string;
    if (quote === "'") {
      if (c === "'") quote = '';
      else current += c;
    } else if (c === '\\' && i + 1 < line.length) {
      current = (current ?? '') + line[++i];
    } else if (quote === '"') {
      if (c === '"') quote = '';
      else current += c;
    } else if (c === '"' || c === "'") {
      quote = c;
      current ??= '';
    } else if (/\s/.test(c)) {
      if (current !== null) args.push(current);
      current = null;
    } else {
      current = (current ?? '') + c;
    }
  }
  if (quote) return null;
  if (current !== null) args.push(current);
  return args;
}
