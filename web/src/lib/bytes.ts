const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** bytes formats a size for people, with decimal units: 1.2 GB. */
export function bytes(count: number): string {
  let size = Math.max(0, count);
  let unit = 0;
  // A size that would round to 1000 of a unit is shown as 1 of the next.
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit > 0 && size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}
