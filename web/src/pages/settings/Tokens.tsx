import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { messageOf } from '@/api/error';
import type { AccessToken } from '@/api/schema.gen';
import { Section } from '@/components/Section';
import { tokensQuery, useRevokeToken } from '@/data/access';
import { meQuery } from '@/data/queries';
import { exact } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Badge, type Tone } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Overlay';
import { RelativeTime } from '@/ui/RelativeTime';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';
import { NewTokenDialog } from './NewTokenDialog';

const tones: Record<AccessToken['role'], Tone> = { viewer: 'neutral', operator: 'info', admin: 'violet' };

/** endOf returns why a token is no longer valid. Empty: it is valid. */
function endOf(token: AccessToken, now: number): '' | 'revoked' | 'expired' {
  if (token.revoked_at) return 'revoked';
  return token.expires_at && Date.parse(token.expires_at) <= now ? 'expired' : '';
}

/** Tokens lists all access tokens, with their roles and the times of their last use. */
export function Tokens() {
  const { data: tokens, error, refetch } = useQuery(tokensQuery);
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<AccessToken | null>(null);
  const [all, setAll] = useState(false);
  const now = useNow();
  const over = tokens?.filter((token) => endOf(token, now) !== '') ?? [];
  const shown = all ? (tokens ?? []) : (tokens ?? []).filter((token) => !over.includes(token));
  return (
    <Section
      title="Access tokens"
      about="Each person and each program has a token of their own. Its name is recorded with everything that is done with it. The token in the server’s data directory is the owner’s and not in this list."
    >
      {tokens ? (
        <ul aria-label="Access tokens" className="-my-2 flex flex-col">
          {shown.map((token) => (
            <TokenRow
              key={token.id}
              token={token}
              end={endOf(token, now)}
              onRevoke={() => setEnding(token)}
            />
          ))}
          {shown.length === 0 && <li className="py-2 text-sm text-ink-3">Only the owner’s so far.</li>}
        </ul>
      ) : error ? (
        <ErrorState
          title="The tokens could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
        />
      ) : (
        <Loading label="Loading the tokens">
          <Skeleton className="h-16" />
        </Loading>
      )}
      <div className="flex flex-wrap items-center justify-between gap-2 border-t pt-4">
        {over.length > 0 ? (
          <Button variant="ghost" size="sm" aria-pressed={all} onClick={() => setAll(!all)}>
            {all ? 'Hide' : 'Show'} {over.length} that no longer {over.length === 1 ? 'works' : 'work'}
          </Button>
        ) : (
          <span />
        )}
        <Button icon={<Plus className="size-4" />} onClick={() => setMaking(true)}>
          New token
        </Button>
      </div>
      {making && <NewTokenDialog onClose={() => setMaking(false)} />}
      {ending && <RevokeDialog token={ending} onClose={() => setEnding(null)} />}
    </Section>
  );
}

function TokenRow({ token, end, onRevoke }: { token: AccessToken; end: string; onRevoke(): void }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b py-2.5 last:border-0">
      <span className="flex min-w-0 flex-1 basis-56 flex-col gap-1">
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate text-sm font-medium">{token.name}</span>
          <Badge tone={tones[token.role]}>{token.role}</Badge>
          {end && <Badge tone="bad">{end}</Badge>}
        </span>
        <span className="text-xs text-ink-3">
          {token.last_used_at ? (
            <>
              used <RelativeTime at={token.last_used_at} />
            </>
          ) : (
            'never used'
          )}
          {' · '}made by {token.created_by} <RelativeTime at={token.created_at} />
          {' · '}
          {token.revoked_at ? (
            <>
              revoked <RelativeTime at={token.revoked_at} />
            </>
          ) : token.expires_at ? (
            `${end ? 'expired' : 'expires'} ${exact(token.expires_at)}`
          ) : (
            'never expires'
          )}
        </span>
      </span>
      {!end && (
        <Button size="sm" onClick={onRevoke} aria-label={`Revoke ${token.name}`} className="text-bad!">
          Revoke…
        </Button>
      )}
    </li>
  );
}

function RevokeDialog({ token, onClose }: { token: AccessToken; onClose(): void }) {
  const revoke = useRevokeToken();
  const { data: me } = useQuery(meQuery);
  const submit = (): void =>
    revoke.mutate(token.id, {
      onSuccess: () => {
        toast(`Revoked ${token.name}`);
        onClose();
      },
    });
  return (
    <Dialog open onClose={onClose} title={`Revoke ${token.name}?`}>
      <p className="text-sm text-ink-2">
        It is refused from then on, and browsers that are signed in with it are signed out within seconds.
        This cannot be undone. Runs that it started continue.
      </p>
      {me?.name === token.name && (
        <p className="mt-3 rounded-lg px-3 py-2 text-sm tone-warn">You are signed in with this very token.</p>
      )}
      {revoke.error && (
        <p role="alert" className="mt-3 text-sm text-bad">
          {messageOf(revoke.error)}
        </p>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button variant="danger" busy={revoke.isPending} onClick={submit}>
          Revoke
        </Button>
      </div>
    </Dialog>
  );
}
