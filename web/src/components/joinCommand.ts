const quoted = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** joinCommand returns the command line that makes a machine join as a host. Its token is valid for that host only. */
export function joinCommand(server: string, name: string, token: string): string {
  return `SVC_WORKER_TOKEN=${quoted(token)} svc worker --store-token --server ${quoted(server)} --host-name ${quoted(name)}`;
}

/** isLoopback reports whether an address can be reached only from its own machine. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(hostname);
