import { call } from '@/api/client';
import { noteSession, session } from '@/api/session';
import { randomKey } from '@/lib/id';

/** signIn exchanges a token for a session. It does not store the token. */
export async function signIn(token: string): Promise<void> {
  await call('POST /session', { body: { token } });
  noteSession(randomKey());
}

/** signInOnce signs in with the token of a link, unless this browser is signed in: a link must not switch the user. */
export async function signInOnce(token: string): Promise<void> {
  try {
    await call('GET /me', {});
    if (!session()) noteSession(randomKey());
  } catch {
    await signIn(token).catch(() => {}); // the sign-in page asks for another token
  }
}

/** signOut ends this browser's session. It also ends it at the server if the server can be reached. */
export async function signOut(): Promise<void> {
  await call('DELETE /session', {}).catch(() => {});
  noteSession(null);
}
