import { type BrowserContext, test as base, expect, type Page } from '@playwright/test';
import type { Project, Run, WorkItem } from '../../src/api/records.ts';
import { Server, until } from './server.ts';

export { expect, Server, until };

/** watch fails the test when a page of the context violates its policy, throws, or logs an error or a warning. */
export function watch(context: BrowserContext): () => void {
  const complaints: string[] = [];
  context.on('weberror', (error) => complaints.push(`uncaught: ${error.error().message}`));
  context.on('console', (message) => {
    // The browser itself logs each refused request and socket. How the page handles them is tested elsewhere.
    if (/^Failed to load resource|^WebSocket connection to/.test(message.text())) return;
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  const ready = context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      // biome-ignore lint/suspicious/noConsole: the listener above hears it
      console.error(`policy: ${event.violatedDirective} refused ${event.blockedURI}`);
    });
  });
  return () => {
    void ready;
    expect(complaints, 'what the browser complained about').toEqual([]);
  };
}

let labs = 0;

/** Lab is a project of its own for a test, with helpers for what journeys need. */
export class Lab {
  constructor(
    readonly server: Server,
    readonly project: Project,
  ) {}

  get board(): string {
    return this.server.link(`/p/${this.project.slug}/board`);
  }

  get tree(): string {
    return this.server.link(`/p/${this.project.slug}/tree`);
  }

  add(title: string, fields: Record<string, unknown> = {}): Promise<WorkItem> {
    return this.server.api.add(this.project, title, fields);
  }

  /** run starts a shell script as an agent and waits until the run is running. */
  async run(script: string, title = 'A task'): Promise<Run> {
    const task = await this.add(title);
    const run = await this.server.api.start(task, script);
    await this.reaches(run, 'running');
    return run;
  }

  reaches(run: Run, status: Run['status']): Promise<void> {
    return until(`the run is ${status}`, async () => (await this.server.api.run(run.id)).status === status);
  }

  /** of creates a project that no other test uses, so that tests can share a server. */
  static async of(server: Server): Promise<Lab> {
    return new Lab(server, await server.api.project(`Lab ${++labs}`));
  }
}

/** test has one server per worker, one project per test, and a browser that fails the test when it logs an error. */
export const test = base.extend<{ lab: Lab; fresh: Server }, { server: Server }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: the runner reads what a fixture needs from its first argument
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.close();
    },
    { scope: 'worker', timeout: 120_000 },
  ],
  // A server for one test, for tests that kill it or need it empty.
  // biome-ignore lint/correctness/noEmptyPattern: as above
  fresh: async ({}, use) => {
    const server = await Server.start();
    await use(server);
    await server.close();
  },
  lab: async ({ server }, use) => {
    await use(await Lab.of(server));
    await server.stopRuns();
  },
  context: async ({ context }, use) => {
    const check = watch(context);
    await use(context);
    check();
  },
});

/** screen returns the element with the terminal's text. */
export const screen = (page: Page) => page.locator('.xterm-rows');

/** attach attaches to the run that the page shows, and waits until keys go to its terminal. */
export async function attach(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Attach' }).click();
  await expect(page.getByText('You are typing')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Terminal, attached' })).toBeFocused();
}

/** card returns a work item's card on the board. */
export const card = (page: Page, title: string) => page.getByRole('article').filter({ hasText: title });

/** column returns a column of the board. */
export const column = (page: Page, name: string) =>
  page.getByRole('region', { name: new RegExp(`^${name},`) });
