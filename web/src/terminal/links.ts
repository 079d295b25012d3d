import { WebLinksAddon } from '@xterm/addon-web-links';
import type { ILinkHandler, Terminal } from '@xterm/xterm';

/** webAddress is where a link of an agent's output may lead: an address of the web, spelled as it is; null: nowhere. */
export function webAddress(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null;
}

function follow(_: MouseEvent, text: string): void {
  const address = webAddress(text);
  if (address) window.open(address, '_blank', 'noopener,noreferrer');
}

/**
 * withLinks makes the addresses in a terminal's output links. A program may give a link another text than its target:
 * what is hovered says where it leads, and only the web is followed.
 */
export function withLinks(terminal: Terminal): void {
  const tell = (text: string | null): void => {
    if (terminal.element) terminal.element.title = text === null ? '' : (webAddress(text) ?? '');
  };
  const handler: ILinkHandler = {
    activate: follow,
    hover: (_, text) => tell(text),
    leave: () => tell(null),
  };
  terminal.options.linkHandler = handler;
  terminal.loadAddon(new WebLinksAddon(follow, { hover: (_, text) => tell(text), leave: () => tell(null) }));
}
