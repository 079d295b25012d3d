let wanted = '';

/** isLost reports whether the focus is on no chosen element: the element that had it was removed. */
function isLost(): boolean {
  const { activeElement, body } = document;
  return activeElement === null || activeElement === body || activeElement.id === 'main';
}

/**
 * attempt focuses an element in one of the next frames, as soon as the element exists and the focus is lost. Until then,
 * and if it never appears, the page's content has the focus, so that Tab continues there.
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
 * focusSoon focuses an element that will be rendered soon, perhaps at another place than now. It tries for a few frames,
 * until it is called again or the user moves the focus elsewhere.
 */
export const focusSoon = (selector: string): void => attempt(selector, true);

/** focusIfLost works like focusSoon, but moves the focus only if the focused element is removed. */
export const focusIfLost = (selector: string): void => attempt(selector, false);

/** rowSelector returns the selector of a record's focusable element in a list, on the board or in the tree. */
export const rowSelector = (id: string): string =>
  `[data-card-focus="${id}"], [data-row="${id}"][tabindex], [data-row="${id}"] a`;
