// Toasts are never on the first page, so their code loads a moment later.
import { create } from 'zustand';
import { persist } from '@/lib/parts';
import { visible } from '@/lib/visible';

/** ToastOptions are the optional parts of a toast. */
export interface ToastOptions {
  /** A new toast with the same id replaces this one. */
  id?: string;
  description?: string;
  action?: { label: string; onClick(): void };
}

/** useToaster stores whether a toast was ever shown, and so whether the area for toasts is needed. */
export const useToaster = create<{ needed: boolean }>(() => ({ needed: false }));

let sonner: Promise<typeof import('sonner')> | null = null;

/** loadToasts loads the code for toasts in advance, so that a toast can report that the server cannot be reached. */
export function loadToasts(): Promise<typeof import('sonner')> {
  sonner ??= persist(() => import('sonner'));
  return sonner;
}

// The texts are not children in the page's own JSX, so they pass visible() here.
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

/** toast shows a message for a short time. */
export const toast = (text: string, options?: ToastOptions): void => void show('message', text, options);
toast.success = (text: string, options?: ToastOptions): void => void show('success', text, options);
toast.error = (text: string, options?: ToastOptions): void => void show('error', text, options);
