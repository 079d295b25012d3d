import { expect, it, vi } from 'vitest';
import { type Build, PartError, persist, type Surroundings } from './parts';

function around(...builds: Build[]) {
  return {
    build: async () => builds.shift() ?? 'same',
    reload: vi.fn(() => true),
    report: vi.fn(),
    pause: vi.fn(async () => {}),
  } satisfies Surroundings;
}

it('a part waits for a server that is away, and is asked for only then', async () => {
  const server = around('away', 'away', 'away', 'away', 'away');
  const load = vi.fn(async () => 'part');
  expect(await persist(load, server)).toBe('part');
  expect(load).toHaveBeenCalledTimes(1);
  expect(server.pause.mock.calls).toEqual([[500], [1000], [2000], [4000], [4000]]);
  expect(server.report.mock.calls).toEqual([['waits']]);
  expect(server.reload).not.toHaveBeenCalled();
});

it('the page is loaded anew when the server has another one', async () => {
  const server = around('away', 'other');
  const load = vi.fn(async () => 'part');
  void persist(load, server);
  await vi.waitFor(() => expect(server.reload).toHaveBeenCalledTimes(1), { timeout: 30_000 });
  expect(load).not.toHaveBeenCalled();
});

it('a page that was loaded anew a moment ago is not loaded again', async () => {
  const server = around('other');
  server.reload.mockReturnValue(false);
  expect(await persist(async () => 'part', server)).toBe('part');
});

it('a part that fails all the same is told of and never loads the page anew', async () => {
  const server = around('same');
  const load = async (): Promise<string> => {
    throw new Error('Failed to fetch dynamically imported module');
  };
  await expect(persist(load, server)).rejects.toThrow(PartError);
  expect(server.report.mock.calls).toEqual([['failed']]);
  expect(server.reload).not.toHaveBeenCalled();
});
