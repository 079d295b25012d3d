import { useQuery } from '@tanstack/react-query';
import type { Role } from '@/api/records';
import { meQuery } from './queries';

const ranks: Record<Role, number> = { viewer: 1, operator: 2, admin: 3 };

/**
 * useMay reports whether the role of the signed-in token includes the needed role. Undefined: the role is not known yet.
 * The page may then offer an action that the server refuses.
 */
export function useMay(needed: Role): boolean | undefined {
  const { data: me } = useQuery(meQuery);
  return me && ranks[me.role] >= ranks[needed];
}
