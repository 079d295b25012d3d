import { ApiError } from './error';
import type { ErrorAnswer, Operations } from './schema.gen';
import { noteSession } from './session';

/** prefix is where the API lives, on the page's own origin. */
export const prefix = '/api/v1';

type Part<T, K extends string> = undefined extends T ? { [key in K]?: undefined } : { [key in K]: T };

/** Input is what a call needs: its path's names, its query, its body. */
export type Input<O extends keyof Operations> = Part<Operations[O]['path'], 'path'> &
  Part<Operations[O]['body'], 'body'> & {
    query?: Operations[O]['query'];
    signal?: AbortSignal;
    /** Makes a POST safe to repeat. */
    idempotencyKey?: string;
    /** Changes only this version of a record, as tagged answered it. */
    ifMatch?: string;
  };

/** call asks the server. It throws an ApiError; a session that is no longer good signs this browser out. */
export async function call<O extends keyof Operations>(
  operation: O,
  input: Input<O>,
): Promise<Operations[O]['answer']> {
  return (await tagged(operation, input)).answer;
}

/** tagged is call with the tag of the record's version; null: the answer has none. */
export async function tagged<O extends keyof Operations>(
  operation: O,
  input: Input<O>,
): Promise<{ answer: Operations[O]['answer']; etag: string | null }> {
  const response = await send(operation, input);
  const answer = (response.status === 204 ? undefined : await response.json()) as Operations[O]['answer'];
  return { answer, etag: response.headers.get('ETag') };
}

/** callText asks for what is answered as text. */
export async function callText<O extends keyof Operations>(operation: O, input: Input<O>): Promise<string> {
  return (await send(operation, input)).text();
}

/** callStream asks for what is answered piece by piece. */
export async function callStream<O extends keyof Operations>(
  operation: O,
  input: Input<O>,
): Promise<ReadableStream<Uint8Array>> {
  return (await send(operation, input)).body ?? new ReadableStream();
}

async function send<O extends keyof Operations>(operation: O, input: Input<O>): Promise<Response> {
  const [method, template] = operation.split(' ', 2) as [string, string];
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (method !== 'GET') headers['Svc-Request'] = '1'; // a foreign page cannot send it
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

/** urlOf fills a path's names and appends a query; absent values are left out, lists are repeated. */
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

/** Page is one page of a list, as every list of the API answers. */
interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** all reads every page of a list, the largest pages the server gives. */
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
