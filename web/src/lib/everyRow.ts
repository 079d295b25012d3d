// For tests: they have no layout, in which nothing would be in sight. A test that mocks the library of virtual lists with this
// module sees every row.

/** defaultRangeExtractor is all that there is. */
export const defaultRangeExtractor = ({ count }: { count: number }): number[] =>
  Array.from({ length: count }, (_, index) => index);

/** useVirtualizer is a list that is in sight from its first row to its last. */
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
