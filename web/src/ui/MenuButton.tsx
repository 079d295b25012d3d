import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';

/** MenuTriggerProps go to the button that opens the menu. */
export interface MenuTriggerProps {
  'aria-haspopup': 'menu';
  'aria-expanded': boolean;
  'data-state': 'open' | 'closed';
  onClick(): void;
  onKeyDown(event: KeyboardEvent): void;
}

/** MenuPlace is what a Menu needs to know of its button. */
export interface MenuPlace {
  anchor: HTMLElement;
  onClose(): void;
}

/**
 * MenuButton ties a button to a menu that exists only while it is open. The menu's code is heavy, so menus
 * of the first sight are drawn by lazy components.
 */
export function MenuButton({
  trigger,
  menu,
  open: given,
  onOpenChange,
}: {
  trigger(props: MenuTriggerProps): ReactNode;
  menu(place: MenuPlace): ReactNode;
  open?: boolean;
  onOpenChange?(open: boolean): void;
}) {
  const [own, setOwn] = useState(false);
  const around = useRef<HTMLSpanElement>(null);
  const open = given ?? own;
  const set = (next: boolean): void => {
    setOwn(next);
    onOpenChange?.(next);
  };
  const anchor = around.current?.firstElementChild;
  return (
    <>
      <span ref={around} className="contents">
        {trigger({
          'aria-haspopup': 'menu',
          'aria-expanded': open,
          'data-state': open ? 'open' : 'closed',
          onClick: () => set(!open),
          onKeyDown: (event) => {
            if (event.key !== 'ArrowDown') return;
            event.preventDefault();
            set(true);
          },
        })}
      </span>
      {open && anchor instanceof HTMLElement && menu({ anchor, onClose: () => set(false) })}
    </>
  );
}
