// Toasts are never part of the first sight, so their code comes a moment later.
import { create } from 'zustand';
import { persist } from '@/lib/parts';
import { visible } from '@/lib/visible';

/** ToastOptions is what a toast may have beside its text. */
export interface ToastOptions {
  /** A toast with the same id takes this one's place. */
  id?: string;
  description?: string;
  action?: { label: string; onClick(): void };
}

/** useToaster reports whether there was ever a toast, and with it whether the place for them is needed. */
export const useToaster = create<{ needed: boolean }>(() => ({ needed: false }));

let sonner: Promise<typeof import('sonner')> | null = null;

/** loadToasts has the code for toasts here, so that they can tell of a server that is away. */
export function loadToasts(): Promise<typeof import('sonner')> {
  sonner ??= persist(() => import('sonner'));
  return sonner;
}

// The texts are no children of the page's own JSX, so they are made visible here.
async function show(
  kind: 'message' | 'success' | 'error',
  text: string,
  options?: ToastOptions,
): Promise<void> {
  useToaster.setState({ needed: true });
  const { toast: shown } = await loadToasts();
  const description = options?.description;
  shown[kind](visible(text), description ? { ...options, description: visible(description) } : options);
}

/** toast tells something in passing. */
export const toast = (text: string, options?: ToastOptions): void => void show('message', text, options);
toast.success = (text: string, options?: ToastOptions): void => void show('success', text, options);
toast.error = (text: string, options?: ToastOptions): void => void show('error', text, options);
