import { ApiError } from './error';
import type { ErrorAnswer, Operations } from './schema.gen';
import { noteSession } from './session';

/** prefix is the path under which the page's own origin serves the API. */
export const prefix = '/api/v1';

type Part<T, K extends string> = undefined extends T ? { [key in K]?: undefined } : { [key in K]: T };

/** Input is the input of a call: the values for its path, its query and its body. */
export type Input<O extends keyof Operations> = Part<Operations[O]['path'], 'path'> &
  Part<Operations[O]['body'], 'body'> & {
    query?: Operations[O]['query'];
    signal?: AbortSignal;
    /** Makes a POST safe to repeat. */
    idempotencyKey?: string;
    /** An ETag from tagged. The server changes the record only if it still has this version. Absent: any version. */
    ifMatch?: string;
  };

/**
 * call sends a request to the server and returns the decoded answer. It throws an ApiError. A 401 answer signs this
 * browser out.
 */
export async function call<O extends keyof Operations>(
  operation: O,
  input: Input<O>,
): Promise<Operations[O]['answer']> {
  return (await tagged(operation, input)).answer;
}

/** tagged sends a request like call, and also returns the ETag of the record's version. Null: the answer has no ETag. */
export async function tagged<O extends keyof Operations>(
  operation: O,
  input: Input<O>,
): Promise<{ answer: Operations[O]['answer']; etag: string | null }> {
  const response = await send(operation, input);
  const answer = (response.status === 204 ? undefined : await response.json()) as Operations[O]['answer'];
  return { answer, etag: response.headers.get('ETag') };
}

/** callText sends a request and returns the answer as text. */
export async function callText<O extends keyof Operations>(operation: O, input: Input<O>): Promise<string> {
  return (await send(operation, input)).text();
}

/** callStream sends a request and returns the answer's body as a stream. */
export async function callStream<O extends keyof Operations>(
  operation: O,
  input: Input<O>,
): Promise<ReadableStream<Uint8Array>> {
  return (await send(operation, input)).body ?? new ReadableStream();
}

async function send<O extends keyof Operations>(operation: O, input: Input<O>): Promise<Response> {
  const [method, template] = operation.split(' ', 2) as [string, string];
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (method !== 'GET') headers['Svc-Request'] = '1'; // a page of another origin cannot send this header
  if (input.idempotencyKey) headers['Idempotency-Key'] = input.idempotencyKey;
  if (input.ifMatch) headers['If-Match'] = input.ifMatch;
  let body: string | undefined;
  if (input.body !== undefined) {
    headers['Content-Type'] = 'application/json';
    body = JSON.stringify(input.body);
  }
  const url = urlOf(template, input.path, input.query);
  const response = await reach(url, { method, headers, body, signal: input.signal, cache: 'no-store' });
  if (response.ok) return response;
  if (response.status === 401 && operation !== 'POST /session') noteSession(null);
  throw await refusal(response);
}

/** urlOf fills in a path's parameters and appends a query. It omits absent values and repeats a list's parameter. */
export function urlOf(template: string, path?: object, query?: object): string {
  let url = prefix + template;
  for (const [name, value] of Object.entries(path ?? {})) {
    url = url.replace(`{${name}}`, encodeURIComponent(String(value)));
  }
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one));
    }
  }
  return search.size > 0 ? `${url}?${search}` : url;
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'unreachable', 'the server cannot be reached');
  }
}

async function refusal(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorAnswer;
    return new ApiError(response.status, error.code, error.message, error.details);
  } catch {
    return new ApiError(response.status, 'internal', `the server answered ${response.status}`);
  }
}

type Listing = {
  [O in keyof Operations]: Operations[O]['answer'] extends { items: unknown[] } ? O : never;
}[keyof Operations];

/** Page is one page of a list of the API. */
interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** all reads every page of a list. It requests pages of the largest size that the server allows. */
export async function all<O extends Listing>(
  operation: O,
  query: Operations[O]['query'],
  signal?: AbortSignal,
): Promise<Operations[O]['answer']['items']> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  do {
    const input = { query: { ...query, limit: 500, cursor }, signal } as unknown as Input<O>;
    const page = (await call(operation, input)) as Page<unknown>;
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return items as Operations[O]['answer']['items'];
}
