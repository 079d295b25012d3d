import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';

/** MenuTriggerProps are the props for the button that opens the menu. */
export interface MenuTriggerProps {
  'aria-haspopup': 'menu';
  'aria-expanded': boolean;
  'data-state': 'open' | 'closed';
  onClick(): void;
  onKeyDown(event: KeyboardEvent): void;
}

/** MenuPlace has what a Menu needs from its button. */
export interface MenuPlace {
  anchor: HTMLElement;
  onClose(): void;
}

/**
 * MenuButton connects a button to a menu that is rendered only while it is open. The menu's code is large, so menus
 * that are used on the first page are lazy components.
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
