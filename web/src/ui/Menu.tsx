import { Check, ChevronRight } from 'lucide-react';
import { DropdownMenu as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { cx } from './cx';
import { Kbd } from './Kbd';
import type { MenuPlace } from './MenuButton';

const surface =
  'z-50 max-h-[min(28rem,var(--radix-dropdown-menu-content-available-height))] min-w-48 animate-in overflow-y-auto rounded-lg bg-raised p-1 shadow-2 ring-1 ring-line-strong';
const row =
  'flex h-8 cursor-default select-none items-center gap-2.5 rounded-md px-2 text-sm outline-none data-[highlighted]:bg-hover data-[disabled]:opacity-45';

/** The parent element of menus: the page's main part, where screen readers that navigate by landmarks find them. */
const place = (): HTMLElement => document.getElementById('main') ?? document.body;

/** Menu is a list of actions beside the button that opened it. It must be inside a MenuButton. */
export function Menu({
  anchor,
  onClose,
  label,
  align = 'end',
  children,
}: MenuPlace & { label: string; align?: 'start' | 'end'; children: ReactNode }) {
  const { left, top, width, height } = anchor.getBoundingClientRect();
  return (
    <Radix.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      {/* In the body: inside a transformed element, position fixed would be relative to that element. */}
      {createPortal(
        <Radix.Trigger asChild>
          <span
            aria-hidden
            tabIndex={-1}
            className="pointer-events-none fixed"
            style={{ left, top, width, height }}
          />
        </Radix.Trigger>,
        document.body,
      )}
      <Radix.Portal container={place()}>
        <Radix.Content
          aria-label={label}
          aria-labelledby={undefined}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          // A click on the button closes the menu by itself; closing here too would open it again.
          onInteractOutside={(event) => anchor.contains(event.target as Node) && event.preventDefault()}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (document.activeElement === document.body) anchor.focus();
          }}
          className={surface}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** MenuItem is one action. */
export function MenuItem({
  icon,
  shortcut,
  danger,
  checked,
  disabled,
  onSelect,
  children,
}: {
  icon?: ReactNode;
  shortcut?: string;
  danger?: boolean;
  checked?: boolean;
  disabled?: boolean;
  onSelect(): void;
  children: ReactNode;
}) {
  return (
    <Radix.Item disabled={disabled} onSelect={onSelect} className={cx(row, danger && 'text-bad')}>
      {icon && (
        <span className={cx('flex size-4 items-center justify-center', !danger && 'text-ink-3')}>{icon}</span>
      )}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {checked && <Check aria-label="chosen" className="size-3.5 text-accent" />}
      {shortcut && <Kbd keys={shortcut} />}
    </Radix.Item>
  );
}

/** MenuToggle is a setting. A click on it does not close the menu. */
export function MenuToggle({
  checked,
  onChange,
  children,
}: {
  checked: boolean;
  onChange(checked: boolean): void;
  children: ReactNode;
}) {
  return (
    <Radix.CheckboxItem
      checked={checked}
      onCheckedChange={onChange}
      onSelect={(event) => event.preventDefault()}
      className={row}
    >
      <span
        className={cx(
          'flex size-4 items-center justify-center rounded ring-1 ring-inset ring-line-strong',
          checked && 'bg-accent-fill ring-transparent',
        )}
      >
        {checked && <Check className="size-3 text-white" />}
      </span>
      <span className="min-w-0 flex-1 truncate">{children}</span>
    </Radix.CheckboxItem>
  );
}

/** MenuGroup is a titled part of a menu. */
export function MenuGroup({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <Radix.Group>
      {title && (
        <Radix.Label className="px-2 pt-1.5 pb-1 text-2xs font-medium text-ink-3">{title}</Radix.Label>
      )}
      {children}
    </Radix.Group>
  );
}

/** MenuLine separates two groups. */
export function MenuLine() {
  return <Radix.Separator className="-mx-1 my-1 h-px bg-line" />;
}

/** SubMenu opens a nested menu. */
export function SubMenu({ icon, title, children }: { icon?: ReactNode; title: string; children: ReactNode }) {
  return (
    <Radix.Sub>
      <Radix.SubTrigger className={cx(row, 'data-[state=open]:bg-hover')}>
        {icon && <span className="flex size-4 items-center justify-center text-ink-3">{icon}</span>}
        <span className="flex-1">{title}</span>
        <ChevronRight className="size-3.5 text-ink-3" />
      </Radix.SubTrigger>
      <Radix.Portal container={place()}>
        <Radix.SubContent sideOffset={4} collisionPadding={8} className={surface}>
          {children}
        </Radix.SubContent>
      </Radix.Portal>
    </Radix.Sub>
  );
}
