import { useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowRight } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { ApiError, messageOf } from '@/api/error';
import { signIn } from '@/data/signIn';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { Command } from '@/ui/Copy';
import { Field, Input } from '@/ui/Field';

/** LoginPage asks for the access token that the orchestrator created at its first start. */
export function LoginPage() {
  useTitle('Sign in');
  const [value, setValue] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const { next } = useSearch({ from: '/login' });
  const navigate = useNavigate();

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const candidate = tokenOf(value);
    setBusy(true);
    setError(null);
    try {
      await signIn(candidate);
      await navigate({ href: next && /^\/(?![/\\])/.test(next) ? next : '/' });
    } catch (cause) {
      setError(
        cause instanceof ApiError && cause.status === 401
          ? 'The server does not know this token.'
          : messageOf(cause),
      );
      setBusy(false);
    }
  };

  return (
    <main className="flex h-full items-center justify-center overflow-y-auto p-4">
      <div className="w-full max-w-sm">
        <img src="/icon.svg" alt="" className="mb-5 size-10" />
        <h1 className="text-2xl font-semibold tracking-tight">Sign in to svc</h1>
        <p className="mt-1.5 text-sm text-pretty text-ink-2">
          Paste the access token, or open the link that <code className="font-mono text-xs">svc up</code>{' '}
          printed.
        </p>
        <form onSubmit={submit} className="mt-6 flex flex-col gap-3">
          <Field label="Access token" error={error}>
            {(ids) => (
              <Input
                {...ids}
                type="password"
                value={value}
                onChange={(event) => setValue(event.target.value)}
                autoComplete="current-password"
                placeholder="32 hexadecimal characters"
                className="h-10 font-mono"
                required
                autoFocus
              />
            )}
          </Field>
          <Button type="submit" variant="primary" size="lg" busy={busy} disabled={value.trim() === ''}>
            Sign in <ArrowRight className="size-4" />
          </Button>
        </form>
        <div className="mt-8 flex flex-col gap-1.5 text-xs text-ink-3">
          <span>The token is in a file on the orchestrator's machine:</span>
          <Command line="cat ~/.local/share/svc/token" />
        </div>
      </div>
    </main>
  );
}

/** tokenOf accepts a token or a whole sign-in link, and returns the token. */
function tokenOf(pasted: string): string {
  return /[#&]token=([^&\s]+)/.exec(pasted)?.[1] ?? pasted.trim();
}
