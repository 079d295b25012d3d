import { useEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { Kbd } from './Kbd';

/**
 * tip returns the props that give an element a tooltip. The page's TooltipLayer shows it on hover and keyboard focus.
 */
export function tip(text: string, keys?: string, side: 'bottom' | 'right' = 'bottom') {
  return { 'data-tip': text, 'data-tip-keys': keys, 'data-tip-side': side };
}

/** How long the pointer must rest before a tooltip shows, in ms. */
const rest = 350;

interface Shown {
  text: string;
  keys: string | undefined;
  side: string | undefined;
  rect: DOMRect;
}

/**
 * TooltipLayer shows the tooltip of the element under the pointer. There is one per page, so that tips cost cards
 * nothing.
 */
export function TooltipLayer() {
  const [shown, setShown] = useState<Shown | null>(null);
  useEffect(() => {
    let timer = 0;
    let current: Element | null = null;
    const hide = (): void => {
      window.clearTimeout(timer);
      current = null;
      setShown(null);
    };
    const consider = (event: Event, delay: number): void => {
      const element =
        event.target instanceof Element ? event.target.closest<HTMLElement>('[data-tip]') : null;
      if (element === current) return;
      hide();
      if (!element) return;
      current = element;
      timer = window.setTimeout(() => {
        if (!element.isConnected) return;
        const { tip: text = '', tipKeys, tipSide } = element.dataset;
        setShown({ text, keys: tipKeys, side: tipSide, rect: element.getBoundingClientRect() });
      }, delay);
    };
    const over = (event: PointerEvent): void => {
      if (event.pointerType !== 'touch') consider(event, rest);
    };
    const focus = (event: FocusEvent): void => {
      if (event.target instanceof Element && event.target.matches(':focus-visible')) consider(event, 0);
    };
    const events: [string, (event: never) => void][] = [
      ['pointerover', over],
      ['focusin', focus],
      ['focusout', hide],
      ['pointerdown', hide],
      ['keydown', hide],
      ['wheel', hide],
      ['dragstart', hide],
    ];
    for (const [name, listener] of events)
      document.addEventListener(name, listener as EventListener, { passive: true });
    return () => {
      hide();
      for (const [name, listener] of events) document.removeEventListener(name, listener as EventListener);
    };
  }, []);
  return shown && createPortal(<Bubble {...shown} />, document.body);
}

function Bubble({ text, keys, side, rect }: Shown) {
  const ref = useRef<HTMLDivElement>(null);
  // The bubble's size is known only after it is rendered. Until then it is outside the window.
  useEffect(() => {
    const bubble = ref.current;
    if (!bubble) return;
    const { offsetWidth: width, offsetHeight: height } = bubble;
    const gap = 6;
    const below = rect.bottom + gap + height < window.innerHeight;
    const left = side === 'right' ? rect.right + gap : rect.left + rect.width / 2 - width / 2;
    const top =
      side === 'right'
        ? rect.top + rect.height / 2 - height / 2
        : below
          ? rect.bottom + gap
          : rect.top - gap - height;
    bubble.style.left = `${Math.max(gap, Math.min(left, window.innerWidth - width - gap))}px`;
    bubble.style.top = `${Math.max(gap, top)}px`;
    bubble.style.visibility = 'visible';
  }, [rect, side]);
  return (
    <div
      ref={ref}
      role="tooltip"
      style={{ visibility: 'hidden' }}
      className="pointer-events-none fixed z-50 flex max-w-80 animate-fade items-center gap-2 rounded-md bg-raised px-2 py-1 text-xs text-ink shadow-2 ring-1 ring-line-strong"
    >
      {text}
      {keys && <Kbd keys={keys} />}
    </div>
  );
}
