import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { workItemsQuery } from './queries';

/** useItemTitles is the titles of all work items of these projects, by id. */
export function useItemTitles(projectIds: readonly string[]): Map<string, string> {
  const distinct = [...new Set(projectIds)].filter(Boolean).sort();
  const lists = useQueries({
    queries: distinct.map((id) => workItemsQuery(id)),
    combine: (results) => results.map((result) => result.data),
  });
  return useMemo(
    () => new Map(lists.flatMap((items) => items?.map((item) => [item.id, item.title] as const) ?? [])),
    [lists],
  );
}
