import type { Host, Project, Run, WorkItem } from '../../src/api/records.ts';
import type { CreateRun } from '../../src/api/schema.gen.ts';

type Fields = Record<string, unknown>;

/** Api prepares and checks state through the API, for everything that is not the subject of a journey. */
export class Api {
  constructor(
    private readonly url: string,
    private readonly token: () => string,
  ) {}

  async call<T>(method: string, path: string, body?: Fields): Promise<T> {
    const text = await this.text(method, `/api/v1${path}`, body);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  private async text(method: string, path: string, body?: Fields): Promise<string> {
    const answer = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.token()}`, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  }

  private async list<T>(path: string): Promise<T[]> {
    return (await this.call<{ items: T[] }>('GET', path)).items;
  }

  hosts = (): Promise<Host[]> => this.list('/hosts');
  runs = (): Promise<Run[]> => this.list('/runs?limit=500');
  run = (id: string): Promise<Run> => this.call('GET', `/runs/${id}`);
  items = (projectId: string): Promise<WorkItem[]> =>
    this.list(`/work-items?limit=500&project_id=${projectId}`);
  item = (id: string): Promise<WorkItem> => this.call('GET', `/work-items/${id}`);

  log = (runId: string): Promise<string> => this.text('GET', `/api/v1/runs/${runId}/logs`);
  recording = (runId: string): Promise<string> => this.text('GET', `/api/v1/runs/${runId}/recording`);

  project = (name: string, fields: Fields = {}): Promise<Project> =>
    this.call('POST', '/projects', { name, ...fields });
  add = (project: Project, title: string, fields: Fields = {}): Promise<WorkItem> =>
    this.call('POST', '/work-items', { project_id: project.id, kind: 'task', title, ...fields });
  start = (task: WorkItem, prompt: string, fields: Partial<CreateRun> = {}): Promise<Run> =>
    this.call('POST', '/runs', { task_id: task.id, provider: 'sh', prompt, ...fields });

  /** streams returns how many clients follow the event stream now. */
  async streams(): Promise<number> {
    const answer = await fetch(`${this.url}/metrics`, {
      headers: { Authorization: `Bearer ${this.token()}` },
    });
    return Number(/^svc_event_streams (\d+)/m.exec(await answer.text())?.[1]);
  }

  /** liveSessions returns the runs whose session may still be alive. */
  async liveSessions(): Promise<Run[]> {
    const runs = await this.runs();
    return runs.filter(
      (run) =>
        ['pending', 'spawning', 'running'].includes(run.status) ||
        (run.started_at !== null && run.session_ended_at === null),
    );
  }

  async stopAll(): Promise<void> {
    for (const run of await this.liveSessions()) {
      // A run that ended in between cannot be stopped, and need not be.
      await this.call('POST', `/runs/${run.id}/stop`).catch(() => {});
    }
  }
}
