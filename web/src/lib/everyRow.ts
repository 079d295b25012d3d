// A replacement of the virtual-list library for tests. Tests have no layout, so the library would show no rows. A test
// that mocks the library with this module gets every row.

/** defaultRangeExtractor returns all indexes. */
export const defaultRangeExtractor = ({ count }: { count: number }): number[] =>
  Array.from({ length: count }, (_, index) => index);

/** useVirtualizer returns a list of which every row is visible. */
export function useVirtualizer({
  count,
  getItemKey = (index) => index,
}: {
  count: number;
  getItemKey?(index: number): string | number;
}) {
  return {
    getTotalSize: () => count,
    getVirtualItems: () =>
      Array.from({ length: count }, (_, index) => ({ index, key: getItemKey(index), start: 0 })),
    measureElement: () => {},
    scrollToIndex: () => {},
  };
}
