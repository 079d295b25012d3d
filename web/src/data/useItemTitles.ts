import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { itemRef } from '@/api/records';
import { workItemsQuery } from './queries';

/** useItemTitles returns the short name and title of each work item of these projects, by id. */
export function useItemTitles(projectIds: readonly string[]): Map<string, string> {
  const distinct = [...new Set(projectIds)].filter(Boolean).sort();
  const lists = useQueries({
    queries: distinct.map((id) => workItemsQuery(id)),
    combine: (results) => results.map((result) => result.data),
  });
  return useMemo(
    () =>
      new Map(
        lists.flatMap(
          (items) => items?.map((item) => [item.id, `${itemRef(item)} ${item.title}`.trim()] as const) ?? [],
        ),
      ),
    [lists],
  );
}
