import { call } from '@/api/client';
import { noteSession, session } from '@/api/session';
import { randomKey } from '@/lib/id';

/** signIn exchanges a token for a session. The token is kept nowhere. */
export async function signIn(token: string): Promise<void> {
  await call('POST /session', { body: { token } });
  noteSession(randomKey());
}

/** signInOnce takes a token that a link brought, unless this browser is signed in: a link must not change who someone is. */
export async function signInOnce(token: string): Promise<void> {
  try {
    await call('GET /me', {});
    if (!session()) noteSession(randomKey());
  } catch {
    await signIn(token).catch(() => {}); // the sign-in page asks for a better one
  }
}

/** signOut ends this browser's session, at the server too when it can be reached. */
export async function signOut(): Promise<void> {
  await call('DELETE /session', {}).catch(() => {});
  noteSession(null);
}
