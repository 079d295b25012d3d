// Written by openapi/generate.mjs from the API's description. Do not edit: `npm run types` makes it anew.

export interface AccessToken {
  created_at: string;
  /** The name of the token that made it */
  created_by: string;
  /** Null: never */
  expires_at: string | null;
  /** UUID */
  id: string;
  /** May lag by a minute; null: never */
  last_used_at: string | null;
  /** Unique among the tokens that work */
  name: string;
  /** Null: not revoked */
  revoked_at: string | null;
  role: "viewer" | "operator" | "admin";
}

export interface CreateHost {
  labels?: Record<string, string>;
  /** Null or absent: no limit */
  max_runs?: number | null;
  /** What the worker registers as */
  name: string;
}

export interface CreateProject {
  /** Default working directory of runs; empty: the worker decides */
  cwd?: string;
  description?: string;
  name: string;
  /** Absent: generated from the name */
  slug?: string;
}

export interface CreateRun {
  /** Arguments for the provider's tool */
  args?: string[];
  /** Absent: the project's, then the worker's */
  cwd?: string;
  /** Extra variables of the session */
  env?: Record<string, string>;
  /** Pins the run to this host; null or absent: any */
  host_id?: string | null;
  /** Absent: 3 */
  max_restarts?: number;
  model?: string;
  prompt?: string;
  provider: string;
  /** Absent: never */
  restart_policy?: "never" | "on_failure" | "always";
  /** A work item of kind task or subtask */
  task_id: string;
}

export interface CreateToken {
  /** Absent or null: never */
  expires_at?: string;
  /** 1 to 64 characters, unique among the tokens that work */
  name: string;
  role: "viewer" | "operator" | "admin";
}

export interface CreateWorkItem {
  /** Absent: the configured default */
  auto_mark_done?: boolean;
  /** Markdown, up to 64 KiB */
  description?: string;
  kind: "milestone" | "epic" | "task" | "subtask";
  /** An item of the same project; null or absent: the project's root */
  parent_id?: string | null;
  /** UUID */
  project_id: string;
  /** Absent: todo */
  status?: "todo" | "doing" | "done" | "cancelled";
  title: string;
}

export interface ErrorAnswer {
  error: ErrorBody;
}

export interface ErrorBody {
  /** For programs; see docs/api.md for the list */
  code: string;
  /** For programs; fields names each field that is wrong */
  details?: Record<string, unknown>;
  /** For people */
  message: string;
}

export interface Event {
  created_at: string;
  payload: Record<string, unknown>;
  /** Grows by one with every event, in commit order */
  seq: number;
  topic: string;
}

export interface Evidence {
  attempt: number;
  /** Who asked for it; null: no person did */
  by: string | null;
  /** The signal; stopped for a stop by hand */
  kind: string;
  /** By ours */
  received_at: string;
  /** By the sender's clock */
  sent_at: string;
  source: "wrapper" | "provider-hook" | "manual";
  /** The door it came through: http, uplink or api */
  via: string;
}

export interface Host {
  /** Runs with a session that may be alive */
  active_runs: number;
  /** By how many milliseconds the worker's clock was ahead of the orchestrator's at the last heartbeat; absent: by less than a second either way, or no heartbeat since the orchestrator began. Nothing is decided by it */
  clock_ahead_ms?: number;
  created_at: string;
  /** UUID */
  id: string;
  /** The pinned worker process identity; null: none yet */
  instance_id: string | null;
  /** A second identity was seen; no new runs until cleared */
  instance_suspect: boolean;
  labels: Record<string, string>;
  /** The last heartbeat; null: never */
  last_seen_at: string | null;
  /** Null: no limit */
  max_runs: number | null;
  /** Unique; what a worker registers as */
  name: string;
  platform: string;
  /** What the worker last reported */
  providers: Record<string, ProviderReport>;
  /** When that was; null: never */
  providers_reported_at: string | null;
  /** Why the host takes no new runs now, by its last heartbeat; absent: it does */
  refusing?: HostRefusal;
  status: "registered" | "online" | "offline" | "disabled";
  suspect_instance_id: string | null;
  updated_at: string;
  worker_version: string;
}

export interface HostRefusal {
  /** cooling_down: it could not start runs and tries again by itself */
  code: string;
  /** For people */
  message: string;
  /** When the host looks again */
  until: string;
}

export interface HostWithheld {
  host_id: string;
  name: string;
  why: "other_host_pinned" | "never_seen" | "offline" | "disabled" | "suspect" | "cooling_down" | "not_connected" | "full" | "refused" | "provider_missing" | "about_to_take_it";
}

export interface Lease {
  attached_at: string;
  /** The name of the token that the holder uses */
  holder: string;
}

export interface ListAccessToken {
  items: AccessToken[];
  /** Null on the last page */
  next_cursor: string | null;
}

export interface ListEvent {
  items: Event[];
  /** Null on the last page */
  next_cursor: string | null;
}

export interface ListHost {
  items: Host[];
  /** Null on the last page */
  next_cursor: string | null;
}

export interface ListProject {
  items: Project[];
  /** Null on the last page */
  next_cursor: string | null;
}

export interface ListProvider {
  items: Provider[];
  /** Null on the last page */
  next_cursor: string | null;
}

export interface ListRun {
  items: Run[];
  /** Null on the last page */
  next_cursor: string | null;
}

export interface ListWorkItem {
  items: WorkItem[];
  /** Null on the last page */
  next_cursor: string | null;
}

export interface Me {
  /** Null: never */
  expires_at: string | null;
  /** Of the caller's token */
  name: string;
  role: "viewer" | "operator" | "admin";
}

export interface NewToken {
  created_at: string;
  /** The name of the token that made it */
  created_by: string;
  /** Null: never */
  expires_at: string | null;
  /** UUID */
  id: string;
  /** May lag by a minute; null: never */
  last_used_at: string | null;
  /** Unique among the tokens that work */
  name: string;
  /** Null: not revoked */
  revoked_at: string | null;
  role: "viewer" | "operator" | "admin";
  /** The secret: 32 hex characters, shown once; absent in the answer to a repeated request */
  token?: string;
}

export interface OpenSession {
  /** An access token */
  token: string;
}

export interface Pane {
  /** The terminal's content */
  capture: string;
  run_id: string;
  /** Grows with every change of this run's screen */
  seq: number;
  /** When the worker captured it */
  timestamp: string;
}

export interface PatchHost {
  /** Replaces all labels */
  labels?: Record<string, string>;
  /** Null: no limit */
  max_runs?: number | null;
  name?: string;
}

export interface PatchProject {
  cwd?: string;
  description?: string;
  name?: string;
  slug?: string;
}

export interface PatchWorkItem {
  /** Stand directly after this item */
  after?: string;
  auto_mark_done?: boolean;
  /** Stand directly before this item */
  before?: string;
  /** Only with status done; absent: certain */
  confidence?: "certain" | "likely" | "unsure";
  /** Markdown, up to 64 KiB */
  description?: string;
  kind?: "milestone" | "epic" | "task" | "subtask";
  /** Moves the subtree under this item; null: to the project's root */
  parent_id?: string | null;
  status?: "todo" | "doing" | "done" | "cancelled";
  title?: string;
}

export interface Project {
  /** Null while the project is active */
  archived_at: string | null;
  created_at: string;
  /** Default working directory of runs; empty: the worker decides */
  cwd: string;
  description: string;
  /** UUID */
  id: string;
  name: string;
  /** Unique short name, usable wherever the id is */
  slug: string;
  status: "active" | "archived";
  updated_at: string;
}

export interface Provider {
  /** Executable, resolved on the worker's PATH; empty when only a worker knows the provider */
  bin: string;
  completion_signals: string[];
  /** By host id; a host that never reported it is absent */
  hosts: Record<string, ProviderOnHost>;
  id: string;
  /** False when only a worker's own catalog has it */
  in_catalog: boolean;
  name: string;
  /** Its absence on a host is fine */
  optional: boolean;
  /** line_oriented, full_screen or raw_mode; empty likewise */
  tui_type: string;
}

export interface ProviderOnHost {
  available: boolean;
  host_name: string;
  /** Why it is not available */
  reason?: string;
  /** When the worker last looked */
  reported_at: string | null;
  version?: string;
}

export interface ProviderReport {
  available: boolean;
  /** Why it is not available */
  reason?: string;
  version?: string;
}

export interface Run {
  args: string[];
  /** Incarnation, from 1; a restart adds one */
  attempt: number;
  created_at: string;
  /** The name of the token that made it; null: made before names were kept */
  created_by: string | null;
  /** Empty: the project's, then the worker's */
  cwd: string;
  ended_at: string | null;
  env: Record<string, string>;
  /** What a failed signal said */
  error: string | null;
  exit_code: number | null;
  /** Set when it failed without a word from wrapper or hook */
  failure_reason: string | null;
  /** What looks odd about a run that looks healthy; null: nothing */
  hint: string | null;
  /** The host that was given this attempt; null before */
  host_id: string | null;
  /** UUID, random */
  id: string;
  last_output_at: string | null;
  /** Highest applied seq of this attempt */
  last_progress_seq: number;
  max_restarts: number;
  model: string;
  /** A hook said that the agent waits for a person */
  needs_input: boolean;
  /** Not given to a host before; null: at once */
  next_dispatch_at: string | null;
  /** When it last became pending */
  pending_since: string;
  /** The host the caller asked for; null: any */
  pinned_host_id: string | null;
  progress_message: string | null;
  progress_percent: number | null;
  project_id: string;
  prompt: string;
  provider: string;
  restart_policy: "never" | "on_failure" | "always";
  result: "success" | "partial_success" | "user_rejected" | null;
  result_reason: string | null;
  /** Null while the session may still be alive */
  session_ended_at: string | null;
  /** svc- and the first 8 characters of the id */
  session_name: string;
  started_at: string | null;
  status: "pending" | "spawning" | "running" | "exited" | "failed" | "stopped";
  task_id: string;
  updated_at: string;
}

export interface RunDetail {
  args: string[];
  /** Incarnation, from 1; a restart adds one */
  attempt: number;
  created_at: string;
  /** The name of the token that made it; null: made before names were kept */
  created_by: string | null;
  /** Empty: the project's, then the worker's */
  cwd: string;
  ended_at: string | null;
  env: Record<string, string>;
  /** What a failed signal said */
  error: string | null;
  /** What put the run into its states, oldest first */
  evidence: Evidence[];
  exit_code: number | null;
  /** Set when it failed without a word from wrapper or hook */
  failure_reason: string | null;
  /** What looks odd about a run that looks healthy; null: nothing */
  hint: string | null;
  /** The host that was given this attempt; null before */
  host_id: string | null;
  /** UUID, random */
  id: string;
  last_output_at: string | null;
  /** Highest applied seq of this attempt */
  last_progress_seq: number;
  /** Null while nobody holds the keyboard */
  lease: Lease;
  max_restarts: number;
  model: string;
  /** A hook said that the agent waits for a person */
  needs_input: boolean;
  /** Not given to a host before; null: at once */
  next_dispatch_at: string | null;
  /** When it last became pending */
  pending_since: string;
  /** The host the caller asked for; null: any */
  pinned_host_id: string | null;
  progress_message: string | null;
  progress_percent: number | null;
  project_id: string;
  prompt: string;
  provider: string;
  restart_policy: "never" | "on_failure" | "always";
  result: "success" | "partial_success" | "user_rejected" | null;
  result_reason: string | null;
  /** Null while the session may still be alive */
  session_ended_at: string | null;
  /** svc- and the first 8 characters of the id */
  session_name: string;
  started_at: string | null;
  status: "pending" | "spawning" | "running" | "exited" | "failed" | "stopped";
  task_id: string;
  updated_at: string;
  /** Why a pending run is not running; null otherwise */
  waiting: Waiting;
}

export interface SendKeys {
  keys: string[];
}

export interface Token {
  /** Lets a worker join as this host and as no other */
  token: string;
}

export interface Waiting {
  /** Every host, and why it was not taken */
  hosts: HostWithheld[];
  /** Back-off of a restart; null: it may go at once */
  not_before: string | null;
  /** When it fails if no host takes it */
  times_out_at: string;
}

export interface WorkItem {
  /** Whether a completed signal moves the item to done */
  auto_mark_done: boolean;
  /** Null unless done by hand */
  confidence: "certain" | "likely" | "unsure" | null;
  created_at: string;
  /** Markdown */
  description: string;
  /** UUID */
  id: string;
  kind: "milestone" | "epic" | "task" | "subtask";
  /** Null at the project's root */
  parent_id: string | null;
  /** The ids from the root down to this item, joined with / */
  path: string;
  /** Rank among the project's items, compared as text */
  position: string;
  project_id: string;
  status: "todo" | "doing" | "done" | "cancelled";
  /** Who set the status last */
  status_source: "manual" | "signal";
  title: string;
  updated_at: string;
}

/** Operations is every call of the API, by method and path below /api/v1. */
export interface Operations {
  /** Read the journal, newest first */
  'GET /events': {
    path: undefined;
    query: { topic?: string[] | null; limit?: number; cursor?: string };
    body: undefined;
    answer: ListEvent;
  };
  /** Follow the journal as server-sent events */
  'GET /events/stream': {
    path: undefined;
    query: { topic?: string[]; last_event_id?: string };
    body: undefined;
    answer: undefined;
  };
  /** List hosts, by name */
  'GET /hosts': {
    path: undefined;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: ListHost;
  };
  /** Provision a host */
  'POST /hosts': {
    path: undefined;
    query: undefined;
    body: CreateHost;
    answer: Host;
  };
  /** Delete a host that has no active runs */
  'DELETE /hosts/{id}': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Read a host */
  'GET /hosts/{id}': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Host;
  };
  /** Change a host; absent fields stay */
  'PATCH /hosts/{id}': {
    path: { id: string };
    query: undefined;
    body: PatchHost;
    answer: Host;
  };
  /** Accept the new identity of a suspect host */
  'POST /hosts/{id}/clear-suspect': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Host;
  };
  /** Give a host no new runs; what runs on it goes on */
  'POST /hosts/{id}/disable': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Host;
  };
  /** Give a host new runs again */
  'POST /hosts/{id}/enable': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Host;
  };
  /** Make a new token for this host */
  'POST /hosts/{id}/rotate-token': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Token;
  };
  /** Get the token that lets a worker join as this host alone */
  'POST /hosts/{id}/token': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Token;
  };
  /** Who am I? */
  'GET /me': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: Me;
  };
  /** List projects, by name */
  'GET /projects': {
    path: undefined;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: ListProject;
  };
  /** Create a project */
  'POST /projects': {
    path: undefined;
    query: undefined;
    body: CreateProject;
    answer: Project;
  };
  /** Archive a project; it stays readable */
  'DELETE /projects/{id}': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Project;
  };
  /** Read a project */
  'GET /projects/{id}': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Project;
  };
  /** Change a project; absent fields stay */
  'PATCH /projects/{id}': {
    path: { id: string };
    query: undefined;
    body: PatchProject;
    answer: Project;
  };
  /** List the providers and where each is available */
  'GET /providers': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: ListProvider;
  };
  /** List runs, newest first; filters combine */
  'GET /runs': {
    path: undefined;
    query: { project_id?: string; task_id?: string; host_id?: string; status?: ("pending" | "spawning" | "running" | "exited" | "failed" | "stopped")[] | null; limit?: number; cursor?: string };
    body: undefined;
    answer: ListRun;
  };
  /** Admit a run */
  'POST /runs': {
    path: undefined;
    query: undefined;
    body: CreateRun;
    answer: Run;
  };
  /** Read a run, with why it waits and what proves its states */
  'GET /runs/{id}': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: RunDetail;
  };
  /** Attach to the session of a run (WebSocket) */
  'GET /runs/{id}/attach/ws': {
    path: { id: string };
    query: { token?: string };
    body: undefined;
    answer: undefined;
  };
  /** Type into a run's session */
  'POST /runs/{id}/keys': {
    path: { id: string };
    query: undefined;
    body: SendKeys;
    answer: undefined;
  };
  /** Stream the log of a run */
  'GET /runs/{id}/logs': {
    path: { id: string };
    query: { follow?: boolean; tail?: number; attempt?: number; format?: "raw" | "text" };
    body: undefined;
    answer: undefined;
  };
  /** Read the latest screen of a run */
  'GET /runs/{id}/pane': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Pane;
  };
  /** Watch the screen of a run (WebSocket) */
  'GET /runs/{id}/pane/ws': {
    path: { id: string };
    query: { token?: string };
    body: undefined;
    answer: undefined;
  };
  /** Stop a run */
  'POST /runs/{id}/stop': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: Run;
  };
  /** Sign a browser out */
  'DELETE /session': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Sign a browser in */
  'POST /session': {
    path: undefined;
    query: undefined;
    body: OpenSession;
    answer: undefined;
  };
  /** List access tokens, newest first, with the revoked ones */
  'GET /tokens': {
    path: undefined;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: ListAccessToken;
  };
  /** Make an access token */
  'POST /tokens': {
    path: undefined;
    query: undefined;
    body: CreateToken;
    answer: NewToken;
  };
  /** Revoke an access token */
  'DELETE /tokens/{id}': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List work items, by position; filters combine */
  'GET /work-items': {
    path: undefined;
    query: { project_id?: string; parent_id?: string; under?: string; status?: ("todo" | "doing" | "done" | "cancelled")[] | null; kind?: ("milestone" | "epic" | "task" | "subtask")[] | null; limit?: number; cursor?: string };
    body: undefined;
    answer: ListWorkItem;
  };
  /** Create a work item */
  'POST /work-items': {
    path: undefined;
    query: undefined;
    body: CreateWorkItem;
    answer: WorkItem;
  };
  /** Delete a work item */
  'DELETE /work-items/{id}': {
    path: { id: string };
    query: { recursive?: boolean };
    body: undefined;
    answer: undefined;
  };
  /** Read a work item */
  'GET /work-items/{id}': {
    path: { id: string };
    query: undefined;
    body: undefined;
    answer: WorkItem;
  };
  /** Change, move or mark a work item; absent fields stay */
  'PATCH /work-items/{id}': {
    path: { id: string };
    query: undefined;
    body: PatchWorkItem;
    answer: WorkItem;
  };
}
