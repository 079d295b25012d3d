import { X } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { IconButton } from './Button';
import { cx } from './cx';

/** Dialog is a modal dialog. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  wide,
  text,
}: {
  open: boolean;
  onClose(): void;
  title: string;
  description?: ReactNode;
  children: ReactNode;
  wide?: boolean;
  /** Whether it contains only text. Then the text must be focusable, so that the keyboard can scroll it. */
  text?: boolean;
}) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-fade bg-scrim" />
        <Radix.Content
          aria-describedby={undefined}
          data-modal
          onOpenAutoFocus={(event) => {
            // The first field gets the focus. The close button gets it only if there is no field.
            const field = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(
              'input, select, textarea',
            );
            if (!field) return;
            event.preventDefault();
            field.focus();
          }}
          className={cx(
            'fixed inset-x-3 top-[12vh] z-40 mx-auto flex max-h-[76vh] animate-in flex-col overflow-hidden rounded-xl bg-panel shadow-3 ring-1 ring-line-strong outline-none',
            wide ? 'max-w-2xl' : 'max-w-lg',
          )}
        >
          <header className="flex items-start gap-3 px-5 pt-4.5 pb-1">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-lg font-semibold tracking-tight">{title}</Radix.Title>
              {description && <div className="mt-0.5 text-sm text-ink-2">{description}</div>}
            </div>
            <Radix.Close asChild>
              <IconButton label="Close" size="sm" className="-mr-1.5">
                <X className="size-4" />
              </IconButton>
            </Radix.Close>
          </header>
          <div tabIndex={text ? 0 : undefined} className="overflow-y-auto px-5 pt-3 pb-5">
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/**
 * Sheet opens beside the page's content, which stays usable. On a phone it covers the content, but not the navigation.
 */
export function Sheet({
  open,
  onClose,
  title,
  children,
}: {
  open: boolean;
  onClose(): void;
  title: string;
  children: ReactNode;
}) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()} modal={false}>
      <Radix.Portal>
        <Radix.Content
          aria-describedby={undefined}
          onInteractOutside={(event) => event.preventDefault()}
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            (event.currentTarget as HTMLElement).focus();
          }}
          className="fixed inset-y-0 right-0 z-30 flex w-full max-sm:bottom-(--bar) animate-slide flex-col bg-panel shadow-3 outline-none ring-1 ring-line sm:w-[min(40rem,94vw)]"
        >
          <Radix.Title className="sr-only">{title}</Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
