import { configure, render, screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { Toaster } from './Toaster';
import { toast } from './toast';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });

test('no toast shows a text that hides or reorders something', async () => {
  vi.stubGlobal('fetch', async () => new Response()); // the server answers
  render(<Toaster dark={false} />);
  toast.error('a\u202eb', { description: 'c\u200bd' });
  expect(await screen.findByText('a<U+202E>b')).toBeTruthy();
  expect(await screen.findByText('c<U+200B>d')).toBeTruthy();
});
