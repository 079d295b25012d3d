import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { keys } from '@/data/keys';
import { item } from '@/live/fixtures';
import { NewItemDialog } from './NewItemDialog';
import { openNewItem } from './newItem';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 10_000 });
vi.setConfig({ testTimeout: 60_000 });
/** open renders the dialog with a title, and returns the bodies that it sends. */
function open(title: string): unknown[] {
  const sent: unknown[] = [];
  vi.stubGlobal('fetch', async (_: string, { body }: RequestInit) => {
    sent.push(JSON.parse(String(body)));
    return Response.json(item('new', { project_id: 'p' }));
  });
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(keys.workItems('p'), []);
  openNewItem({ project_id: 'p' });
  render(
    <QueryClientProvider client={client}>
      <NewItemDialog />
    </QueryClientProvider>,
  );
  fireEvent.change(screen.getByLabelText('Title'), { target: { value: title } });
  return sent;
}

const ctrlEnter = (): void => {
  fireEvent.keyDown(screen.getByLabelText(/^Description/), { key: 'Enter', ctrlKey: true });
};

it('is sent from the description with Ctrl+Enter, once', async () => {
  const sent = open('Paint the shed');
  ctrlEnter();
  ctrlEnter();
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({ title: 'Paint the shed' });
});

it('is not sent without a title', async () => {
  const sent = open('  ');
  ctrlEnter();
  fireEvent.change(screen.getByLabelText('Title'), { target: { value: 'Now it has one' } });
  fireEvent.click(screen.getByRole('button', { name: 'Create' }));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject({ title: 'Now it has one' });
});

it('stays open for another one, empty and with the focus on its title', async () => {
  const sent = open('Paint the shed');
  fireEvent.change(screen.getByLabelText(/^Description/), { target: { value: 'In red' } });
  fireEvent.click(screen.getByRole('checkbox', { name: 'Create another' }));
  fireEvent.click(screen.getByRole('button', { name: 'Create' }));
  // Typed before the answer arrives.
  fireEvent.change(screen.getByLabelText('Title'), { target: { value: 'Paint the shedMow' } });
  await waitFor(() => expect(screen.getByLabelText('Title')).toHaveProperty('value', 'Mow'));
  expect(document.activeElement).toBe(screen.getByLabelText('Title'));
  expect(screen.getByLabelText(/^Description/)).toHaveProperty('value', '');
  expect(screen.queryByRole('button', { name: 'Done' })).toBeNull();

  fireEvent.change(screen.getByLabelText('Title'), { target: { value: 'Mow the lawn' } });
  fireEvent.click(screen.getByRole('button', { name: 'Create' }));
  await waitFor(() => expect(screen.getByLabelText('Title')).toHaveProperty('value', ''));
  expect(sent).toMatchObject([
    { title: 'Paint the shed', description: 'In red' },
    { title: 'Mow the lawn', description: '' },
  ]);
  fireEvent.click(screen.getByRole('button', { name: 'Done' }));
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
});
