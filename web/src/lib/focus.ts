let wanted = '';

/**
 * focusSoon focuses an element that is about to be drawn, perhaps at another place than where it is now. It
 * tries for a moment, frame by frame, until it is called again or the user puts the focus elsewhere.
 */
export function focusSoon(selector: string): void {
  wanted = selector;
  let frames = 24;
  const attempt = (): void => {
    if (wanted !== selector || frames-- === 0) return;
    const element = document.querySelector<HTMLElement>(selector);
    const free = document.activeElement === document.body || document.activeElement === null;
    if (element && (free || frames === 23)) element.focus({ preventScroll: true });
    requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}
