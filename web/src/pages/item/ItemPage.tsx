import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ItemDetail, isItemView } from '@/components/ItemDetail';
import { useItemMoves } from '@/components/useItemMoves';
import { workItemQuery, workItemsQuery } from '@/data/queries';

/** ItemPage shows a work item on its own page, for links. */
export function ItemPage() {
  const { id } = useParams({ from: '/shell/t/$id' });
  const { tab } = useSearch({ from: '/shell/t/$id' });
  const { data: item } = useQuery(workItemQuery(id));
  const projectId = item?.project_id ?? '';
  // A move is shown at once in the project's list of items, so that list must be loaded.
  useQuery({ ...workItemsQuery(projectId), enabled: projectId !== '' });
  const move = useItemMoves(projectId);
  const navigate = useNavigate();
  return (
    <ItemDetail
      key={id}
      id={id}
      view={isItemView(tab) ? tab : 'item'}
      onView={(view) =>
        void navigate({ to: '/t/$id', params: { id }, search: view === 'item' ? {} : { tab: view } })
      }
      move={move}
      onOpen={(next) => void navigate({ to: '/t/$id', params: { id: next } })}
      onGone={() => void navigate({ to: '/' })}
    />
  );
}
