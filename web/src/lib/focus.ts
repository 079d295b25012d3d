let wanted = '';

/** isLost reports whether nothing that a person chose has the focus: what had it is gone. */
function isLost(): boolean {
  const { activeElement, body } = document;
  return activeElement === null || activeElement === body || activeElement.id === 'main';
}

/**
 * attempt focuses an element in one of the next frames, as soon as it is there and the focus is lost. Until then, and when
 * it never comes, the page's content has the focus, so that Tab goes on there.
 */
function attempt(selector: string, atOnce: boolean): void {
  wanted = selector;
  let frames = 24;
  const frame = (): void => {
    if (wanted !== selector || frames-- === 0) return;
    const element = document.querySelector<HTMLElement>(selector);
    const to = isLost()
      ? (element ?? document.getElementById('main'))
      : atOnce && frames === 23
        ? element
        : null;
    if (to !== document.activeElement) to?.focus({ preventScroll: true });
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

/**
 * focusSoon focuses an element that is about to be drawn, perhaps at another place than where it is now. It
 * tries for a moment, frame by frame, until it is called again or the user puts the focus elsewhere.
 */
export const focusSoon = (selector: string): void => attempt(selector, true);

/** focusIfLost does the same, but leaves the focus where it is unless what has it goes away. */
export const focusIfLost = (selector: string): void => attempt(selector, false);

/** rowSelector finds what takes the focus of a record in a list, on the board or in the tree. */
export const rowSelector = (id: string): string =>
  `[data-card-focus="${id}"], [data-row="${id}"][tabindex], [data-row="${id}"] a`;
