import { useQuery } from '@tanstack/react-query';
import type { Role } from '@/api/records';
import { meQuery } from './queries';

const ranks: Record<Role, number> = { viewer: 1, operator: 2, admin: 3 };

/**
 * useMay reports whether the signed-in token's role includes another one. Undefined: not known; what is offered then, the
 * server may refuse.
 */
export function useMay(needed: Role): boolean | undefined {
  const { data: me } = useQuery(meQuery);
  return me && ranks[me.role] >= ranks[needed];
}
