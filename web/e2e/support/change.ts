import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../../src/api/records.ts';
import type { Server } from './server.ts';
import { Lab } from './test.ts';

let repos = 0;

/** git runs git with a fixed identity. */
export function git(dir: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', [...who, ...args], { cwd: dir, encoding: 'utf8' });
}

const paint = "sed -i s/two/zwei/ shed.txt; printf 'red\\n' > paint.txt";

/** repository creates a bare repository with one commit on main, and returns its path. */
export function repository(server: Server): string {
  const dir = join(server.dir, `repo-${++repos}`);
  const repo = `${dir}.git`;
  mkdirSync(dir);
  git(dir, 'init', '-q', '-b', 'main');
  writeFileSync(join(dir, 'shed.txt'), 'one\ntwo\nthree\n');
  git(dir, 'add', '.');
  git(dir, 'commit', '-q', '-m', 'Begin');
  git(server.dir, 'clone', '-q', '--bare', dir, repo);
  return repo;
}

/** change creates a project with a repository, and a run that changed it and ended. */
export async function change(server: Server, script = paint): Promise<{ lab: Lab; run: Run; repo: string }> {
  const repo = repository(server);
  const lab = new Lab(
    server,
    await server.api.project(`Shed ${repos}`, { repo, base: 'main', isolation: 'clone' }),
  );
  const task = await lab.add('Paint the shed');
  const run = await server.api.start(task, script);
  await lab.reaches(run, 'exited');
  return { lab, run, repo };
}
