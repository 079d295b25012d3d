// Records for tests: whole ones, of which a test names only what it is about.
import type { Host, Project, Run, WorkItem } from '@/api/records';

const at = '2026-01-02T03:04:05.000Z';

/** item is a task of project p. */
export const item = (id: string, fields: Partial<WorkItem> = {}): WorkItem => ({
  id,
  project_id: 'p',
  parent_id: null,
  kind: 'task',
  title: id,
  description: '',
  status: 'todo',
  status_source: 'manual',
  confidence: null,
  path: id,
  position: id,
  auto_mark_done: false,
  created_at: at,
  updated_at: at,
  ...fields,
});

/** run is a running run of task t. */
export const run = (id: string, fields: Partial<Run> = {}): Run => ({
  id,
  task_id: 't',
  project_id: 'p',
  provider: 'demo',
  session_name: `svc-${id}`,
  status: 'running',
  attempt: 1,
  host_id: 'h',
  pinned_host_id: null,
  prompt: '',
  args: [],
  model: '',
  cwd: '',
  env: {},
  restart_policy: 'never',
  max_restarts: 3,
  failure_reason: null,
  hint: null,
  exit_code: null,
  error: null,
  result: null,
  result_reason: null,
  last_progress_seq: 0,
  progress_message: null,
  progress_percent: null,
  needs_input: false,
  last_output_at: null,
  pending_since: at,
  next_dispatch_at: null,
  started_at: at,
  ended_at: null,
  session_ended_at: null,
  created_by: 'ann',
  created_at: at,
  updated_at: at,
  ...fields,
});

/** host is an online host. */
export const host = (id: string, fields: Partial<Host> = {}): Host => ({
  id,
  name: id,
  status: 'online',
  platform: 'linux/amd64',
  last_seen_at: at,
  connected: true,
  disconnected_since: null,
  instance_id: null,
  instance_suspect: false,
  suspect_instance_id: null,
  max_runs: null,
  labels: {},
  active_runs: 0,
  providers: {},
  providers_reported_at: null,
  worker_version: '1',
  created_at: at,
  updated_at: at,
  ...fields,
});

/** project is an active project. */
export const project = (id: string, fields: Partial<Project> = {}): Project => ({
  id,
  name: id,
  slug: id,
  description: '',
  status: 'active',
  cwd: '',
  archived_at: null,
  created_at: at,
  updated_at: at,
  ...fields,
});
