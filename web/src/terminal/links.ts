import { WebLinksAddon } from '@xterm/addon-web-links';
import type { ILinkHandler, Terminal } from '@xterm/xterm';

/** webAddress returns the normalised http(s) address for a link in an agent's output. Null: it must not be followed. */
export function webAddress(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null;
}

function follow(_: MouseEvent, text: string): void {
  const address = webAddress(text);
  if (address) window.open(address, '_blank', 'noopener,noreferrer');
}

/**
 * withLinks makes the addresses in a terminal's output clickable. A program may give a link a text that differs from its
 * target, so the target is shown on hover. Only http(s) links are followed.
 */
export function withLinks(terminal: Terminal): void {
  const showTarget = (text: string | null): void => {
    if (terminal.element) terminal.element.title = text === null ? '' : (webAddress(text) ?? '');
  };
  const handler: ILinkHandler = {
    activate: follow,
    hover: (_, text) => showTarget(text),
    leave: () => showTarget(null),
  };
  terminal.options.linkHandler = handler;
  terminal.loadAddon(
    new WebLinksAddon(follow, { hover: (_, text) => showTarget(text), leave: () => showTarget(null) }),
  );
}
