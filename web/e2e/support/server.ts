import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Host } from '../../src/api/records.ts';
import { Api } from './api.ts';

/** binary is the path of the svc under test, which `make build` builds. */
export const binary = resolve(process.env.SVC_BIN ?? join(import.meta.dirname, '../../../bin/svc'));

// sh executes the prompt as a shell script: an agent that does what a journey needs. chat also accepts messages. absent is
// on no host.
const catalog = `
[providers.sh]
name = "Shell"
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
tui_type = "full_screen"
installed_detection = ["-c", "true"]

[providers.chat]
name = "Shell that takes messages"
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
tui_type = "line_oriented"
installed_detection = ["-c", "true"]
message = "paste"

[providers.demo]
name = "Demo agent"
bin = "svc"
argv_template = ["exec", "demo", "{args}", "--", "{prompt}"]
tui_type = "line_oriented"

[providers.absent]
name = "Absent agent"
bin = "svc-e2e-absent"
argv_template = ["{prompt}"]
tui_type = "line_oriented"
installed_detection = ["--version"]
`;

const patience = 60_000;

/** ServerOptions are deviations from the defaults of a journey's server. */
export interface ServerOptions {
  hostName?: string;
  catalog?: string;
  /** Additional tables for config.toml; it always has [worker]. */
  config?: string;
}

/** Server is an `svc up` with its own data directory and port, which both stay the same across restarts. */
export class Server {
  readonly dir = mkdtempSync(join(tmpdir(), 'svc-page-'));
  readonly api: Api;
  private process: ChildProcess | null = null;
  private readonly workers: ChildProcess[] = [];
  private said = '';

  private constructor(
    readonly port: number,
    private readonly hostName: string,
  ) {
    this.api = new Api(this.url, () => this.token);
  }

  /** start creates a server and waits until its worker takes runs. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    if (!existsSync(binary)) throw new Error(`${binary} is missing: "make build" makes it`);
    const server = new Server(await freePort(), options.hostName ?? 'build-1');
    mkdirSync(join(server.dir, 'work'));
    const config = `[worker]\nstop_grace = ["300ms", "2s"]\ncwd = "${join(server.dir, 'work')}"\n`;
    writeFileSync(join(server.dir, 'config.toml'), config + (options.config ?? ''));
    writeFileSync(join(server.dir, 'providers.toml'), options.catalog ?? catalog);
    try {
      await server.launch();
    } catch (error) {
      await server.close().catch(() => {}); // only the error of the start matters
      throw error;
    }
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get token(): string {
    return readFileSync(join(this.dir, 'token'), 'utf8').trim();
  }

  /**
   * link returns a page's address with the token for signing in, on another host name of this machine if one is given.
   */
  link(path = '/', host = '127.0.0.1'): string {
    return `http://${host}:${this.port}${path}#token=${this.token}`;
  }

  /** launch starts the process, for the first time or again. */
  async launch(): Promise<void> {
    const { port, hostName } = this;
    const args = ['up', '--bind', '127.0.0.1', '--port', String(port), '--host-name', hostName];
    this.process = this.spawn(args, { SVC_DATA_DIR: this.dir });
    await this.online(hostName, this.process);
  }

  /**
   * join creates a further host and starts its worker with a data directory of its own. It returns that directory. tools
   * are names of additional programs on the host.
   */
  async join(name: string, fields: Record<string, unknown> = {}, tools: string[] = []): Promise<string> {
    const host = await this.api.call<Host>('POST', '/hosts', { name, ...fields });
    const { token } = await this.api.call<{ token: string }>('POST', `/hosts/${host.id}/token`);
    const dir = join(this.dir, 'hosts', name);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const file of ['config.toml', 'providers.toml']) copyFileSync(join(this.dir, file), join(dir, file));
    const args = ['worker', '--server', this.url, '--host-name', name];
    const bin = join(dir, 'tools');
    mkdirSync(bin);
    for (const tool of tools) symlinkSync('/bin/true', join(bin, tool));
    const PATH = `${dirname(binary)}:${bin}:${process.env.PATH}`;
    const child = this.spawn(args, { SVC_DATA_DIR: dir, SVC_WORKER_TOKEN: token, PATH });
    this.workers.push(child);
    await this.online(name, child);
    return dir;
  }

  private spawn(args: string[], env: NodeJS.ProcessEnv): ChildProcess {
    // The worker finds the demo agent as svc in its PATH.
    const path = `${dirname(binary)}:${process.env.PATH}`;
    const child = spawn(binary, args, {
      cwd: this.dir, // the home directory, from which svc makes no project
      env: { ...process.env, PATH: path, HOME: this.dir, TERM: 'xterm-256color', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (text: Buffer): void => {
      this.said = (this.said + text).slice(-10_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    return child;
  }

  private online(name: string, child: ChildProcess): Promise<void> {
    return until(`${name} is online`, async () => {
      if (child.exitCode !== null) throw new Error(`svc ended with ${child.exitCode}:\n${this.said}`);
      const hosts = await this.api.hosts().catch(() => []);
      const host = hosts.find((each) => each.name === name);
      return host?.status === 'online' && Object.keys(host.providers).length > 0;
    });
  }

  /** write writes a file into the directory in which runs start. */
  write(name: string, text: string): void {
    writeFileSync(join(this.dir, 'work', name), text);
  }

  /** kill ends the process without a warning. Sessions continue, as after a crash. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.process;
    this.process = null;
    if (child) await end(child, signal);
  }

  /** stopRuns stops every run and waits for the end of its session. */
  async stopRuns(): Promise<void> {
    await this.api.stopAll();
    await until('every session has ended', async () => (await this.api.liveSessions()).length === 0);
  }

  /**
   * close stops every run through the API, then ends the process and removes its files. If another process is left, such as
   * a session's, close ends that process and then fails. So nothing is left behind, whatever the result of the test.
   */
  async close(): Promise<void> {
    let failed: unknown;
    try {
      // Sessions outlive a server that was killed, so it is started again to end them.
      if (!this.process) await this.launch();
      await this.stopRuns();
    } catch (error) {
      failed = error;
    }
    for (const worker of this.workers.splice(0)) await end(worker, 'SIGTERM');
    await this.kill('SIGTERM');
    try {
      await until('every process of the server has ended', async () => processesOf(this.dir).length === 0);
    } catch (error) {
      const left = processesOf(this.dir);
      failed ??= new Error(`${error}; left: ${left.map(commandOf).join(' | ')}`);
      for (const pid of left) endNow(pid);
    }
    rmSync(this.dir, { recursive: true, force: true });
    if (failed) throw failed;
  }
}

/**
 * processesOf returns the processes whose HOME is a server's directory: the server, its workers, and their sessions. It
 * works only on Linux.
 */
function processesOf(dir: string): number[] {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${dir}`);
      } catch {
        return false; // the process ended meanwhile, or belongs to another user
      }
    });
}

/** commandOf returns the arguments and the state of a process, for a message. */
function commandOf(pid: number): string {
  try {
    const state = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').charAt(0);
    return `${pid} ${state} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 200)}`;
  } catch {
    return `${pid} has ended`;
  }
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // the process ended meanwhile
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

/** until polls for a condition that is not visible on a page, and fails after a timeout. */
export async function until(what: string, reached: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patience;
  while (!(await reached())) {
    if (Date.now() > deadline) throw new Error(`not within ${patience / 1000} s: ${what}`);
    await pause(50);
  }
}

/**
 * freePort returns a port that is free and that no outgoing connection will take while the server is down: the system
 * takes ports for those from 32768 up.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_768);
    const listener = createServer().listen(port, '127.0.0.1');
    const free = await once(listener, 'listening').then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error;
        return false;
      },
    );
    if (!free) continue;
    listener.close();
    await once(listener, 'close');
    return port;
  }
}
