import type { Run, WorkItem } from '../../src/api/records.ts';
import { change } from '../support/change.ts';
import { test as base, expect, Lab, Server, until } from '../support/test.ts';

export { expect, until };

/** The size of a large team's data. */
export const size = { items: 5000, runs: 2000, hosts: 200, agents: 50, files: 300 };

/** Full is a server with the data and the active runs of a large team. */
export interface Full {
  lab: Lab;
  /** The run that changed 300 files. */
  changed: Run;
}

/** test has one server for all measurements, filled once. */
export const test = base.extend<object, { full: Full }>({
  full: [
    // biome-ignore lint/correctness/noEmptyPattern: the runner reads what a fixture needs from its first argument
    async ({}, use) => {
      const server = await Server.start();
      await use(await fill(server));
      await server.close();
    },
    { scope: 'worker', timeout: 900_000 },
  ],
});

async function fill(server: Server): Promise<Full> {
  const lab = await Lab.of(server);
  const { run: changed } = await change(server, edits);
  await inTurns(size.hosts - 1, (i) =>
    server.api.call('POST', '/hosts', {
      name: `fleet-${i + 1}`,
      labels: { zone: `zone-${i % 7}`, disk: i % 3 ? 'nvme' : 'ssd' },
    }),
  );
  const tasks = await plan(lab);
  await work(lab, tasks);
  return { lab, changed };
}

/** A change of 300 files of code in thirty folders. */
const edits = `i=0
while [ $i -lt ${size.files} ]; do
  i=$((i+1)); dir=services/part-$((i % 30)); mkdir -p $dir
  { echo 'package part'; j=0; while [ $j -lt 30 ]; do j=$((j+1)); echo "func F$j() string { return \\"value $i of $j\\" } // as planned"; done; } > $dir/file$i.go
done`;

/** plan creates the work items: 20 epics with tasks in every column. It returns the tasks in status todo. */
async function plan(lab: Lab): Promise<WorkItem[]> {
  const statuses = ['todo', 'todo', 'doing', 'done', 'cancelled'];
  const epics = 20;
  const each = size.items / epics - 1;
  const tasks: WorkItem[] = [];
  for (let e = 0; e < epics; e++) {
    const epic = await lab.add(`Epic ${e}`, { kind: 'epic' });
    await inTurns(each, async (i) => {
      const status = statuses[i % statuses.length];
      const task = await lab.add(`Task ${e}-${i} with a title of ordinary length`, {
        parent_id: epic.id,
        status,
      });
      if (status === 'todo' || status === 'doing') tasks.push(task);
    });
  }
  return tasks;
}

/** work creates the runs: fifty that print output, a queue of 450, and ended ones. */
async function work(lab: Lab, tasks: WorkItem[]): Promise<void> {
  const { api } = lab.server;
  const waiting = 450;
  const over = size.runs - size.agents - waiting - 1;
  const task = (i: number): WorkItem => tasks[i % tasks.length] as WorkItem;
  // No host has this label, so these runs stay in the queue.
  const nowhere = { wait: true, host_labels: { gpu: 'yes' } };
  const ended: Run[] = [];
  await inTurns(over, async (i) => {
    ended.push(await api.start(task(i + 500), `Do part ${i} of the work`, nowhere));
  });
  for (let i = 0; i < ended.length; i += 500)
    await api.call('POST', '/runs/stop', { run_ids: ended.slice(i, i + 500).map((run) => run.id) });
  await inTurns(waiting, (i) => api.start(task(i + 50), `Wait for part ${i}`, nowhere));
  for (let i = 0; i < size.agents; i++)
    await api.start(task(i), 'while :; do echo "line of output $(date)"; sleep 1; done', { wait: true });
  await until('every agent prints', async () => {
    const counts = await api.call<{ running: number }>('GET', '/runs/counts');
    return counts.running === size.agents;
  });
}

/** inTurns calls act n times, with a few calls at once. */
async function inTurns(n: number, act: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const turn = async (): Promise<void> => {
    while (next < n) await act(next++);
  };
  await Promise.all(Array.from({ length: 16 }, turn));
}
