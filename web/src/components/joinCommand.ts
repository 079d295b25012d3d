const quoted = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** joinCommand is the one line to paste on a new host. The token in it works for that host alone. */
export function joinCommand(server: string, name: string, token: string): string {
  return `SVC_WORKER_TOKEN=${quoted(token)} svc worker --store-token --server ${quoted(server)} --host-name ${quoted(name)}`;
}

/** isLoopback reports whether an address reaches only its own machine. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(hostname);
