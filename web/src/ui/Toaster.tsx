import { Toaster as Sonner } from 'sonner';

/** Toaster is the area in which toasts appear. */
export function Toaster({ dark }: { dark: boolean }) {
  return (
    <Sonner
      theme={dark ? 'dark' : 'light'}
      position="bottom-center"
      offset={{ bottom: 20 }}
      mobileOffset={{ bottom: 72 }}
      toastOptions={{
        classNames: {
          toast: '!bg-raised !text-ink !rounded-lg !shadow-3 !border-line-strong !font-sans !text-sm',
          description: '!text-ink-2',
          actionButton: '!bg-accent-fill !text-white !rounded-md !font-medium',
        },
      }}
    />
  );
}
