import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host, Run, WorkItem } from '../../src/api/records.ts';
import { git } from '../support/change.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/server.ts';

/** catalog has a team's own tools: shell scripts that print what an agent might. scribe is not installed. */
export const catalog = ['builder', 'reviewer']
  .map(
    (id) => `
[providers.${id}]
name = "${id[0]?.toUpperCase()}${id.slice(1)}"
bin = "/bin/sh"
argv_template = ["agent.sh", "{args}", "--", "{prompt}"]
tui_type = "full_screen"
installed_detection = ["-c", "echo 2.4.1"]
`,
  )
  .concat(`
[providers.scribe]
name = "Scribe"
bin = "scribe"
argv_template = ["{prompt}"]
tui_type = "line_oriented"
installed_detection = ["--version"]
`)
  .join('');

const dim = '\x1b[2m';
const bold = '\x1b[1m';
const off = '\x1b[0m';
const green = '\x1b[32m';
const red = '\x1b[31m';
const cyan = '\x1b[36m';

const session = `${bold}${cyan}●${off} ${bold}Reading the checkout service${off}
  ${dim}read${off} services/checkout/cart.go ${dim}(212 lines)${off}
  ${dim}read${off} services/checkout/totals.go ${dim}(164 lines)${off}
  ${dim}read${off} services/checkout/totals_test.go ${dim}(88 lines)${off}

${bold}${cyan}●${off} ${bold}The total is rounded once per line and once more at the end, so three lines of 0.335 give 1.02 instead of 1.01.${off}
  I keep amounts in minor units, sum those, and round once where the total is shown.

${bold}${cyan}●${off} ${bold}Edit${off} services/checkout/totals.go
  ${dim} 41${off}   func (c Cart) Total() Money {
  ${red} 42 -     sum := 0.0${off}
  ${red} 43 -     for _, l := range c.Lines { sum += round(l.Price * float64(l.Count)) }${off}
  ${red} 44 -     return Money(round(sum))${off}
  ${green} 42 +     var sum Minor${off}
  ${green} 43 +     for _, l := range c.Lines { sum += l.Price.Times(l.Count) }${off}
  ${green} 44 +     return sum.Money(c.Currency)${off}
  ${dim} 45${off}   }

${bold}${cyan}●${off} ${bold}Run${off} go test ./services/checkout/...
  ok      shop/services/checkout          0.412s
  ok      shop/services/checkout/tax      0.038s
  ${green}✓ 143 tests, all green${off}

${bold}${cyan}●${off} ${bold}Next:${off} the same in the invoice PDF, then the migration of open carts.
  ${dim}[██████████████████░░░░░░░░░░] 64 %   12.4k tokens   3 files changed${off}
`;

const before = `package checkout

// Total is what the customer pays.
func (c Cart) Total() Money {
	sum := 0.0
	for _, l := range c.Lines {
		sum += round(l.Price * float64(l.Count))
	}
	return Money(round(sum))
}

func round(amount float64) float64 {
	return math.Round(amount*100) / 100
}
`;
const after = `package checkout

// Total is what the customer pays. Amounts are summed in minor units and rounded once, where they are shown.
func (c Cart) Total() Money {
	var sum Minor
	for _, l := range c.Lines {
		sum += l.Price.Times(l.Count)
	}
	return sum.Money(c.Currency)
}
`;
const tested = `package checkout

func TestThreeLinesAreRoundedOnce(t *testing.T) {
	cart := Cart{Currency: "EUR", Lines: []Line{{Price: 335, Count: 3}}}
	if got := cart.Total(); got.String() != "10.05" {
		t.Errorf("got %s", got)
	}
}
`;

const edit = `cat > services/checkout/totals.go <<'END'
${after}END
cat > services/checkout/totals_test.go <<'END'
${tested}END
`;

const agent = `
edit() {
${edit}}
case "$1" in
work)  edit; cat session.txt; svc exec signal progress --message "Moving the invoice PDF to minor units" --percent 64; sleep 3600;;
ask)   echo "The migration touches 18,204 open carts."; svc exec signal progress --message "Shall I run the migration on staging now? It locks open carts for about a minute." --needs-input; read -r answer;;
busy)  i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo "checked $i of 1240 components"; done; svc exec signal progress --message "Comparing screenshots, 400 of 1240" --percent 32; sleep 3600;;
fail)  echo "FAIL: TestRefundTwice (0.02s)"; echo "    refund_test.go:58: refunded twice, want once"; exit 1;;
done)  edit; cat session.txt; svc exec signal completed --result success;;
part)  sed -i 's/math.Round/roundHalfEven/' services/checkout/totals.go; echo "Two of three callers moved."; svc exec signal completed --result partial_success --reason "The mobile client still sends floats.";;
esac
`;

/** Demo has the records that the screenshots show. */
export interface Demo {
  slug: string;
  task: WorkItem;
  working: Run;
  asking: Run;
  failed: Run;
  done: Run;
}

/**
 * makeRepository creates the repository that the agents work on. Their script is in it, so that each working copy has
 * it.
 */
function makeRepository(server: Server): string {
  const dir = join(server.dir, 'shop');
  mkdirSync(join(dir, 'services/checkout'), { recursive: true });
  writeFileSync(join(dir, 'agent.sh'), agent);
  writeFileSync(join(dir, 'session.txt'), session);
  writeFileSync(join(dir, 'services/checkout/totals.go'), before);
  git(dir, 'init', '-q', '-b', 'main');
  git(dir, 'add', '.');
  git(dir, 'commit', '-q', '-m', 'The checkout as it was');
  git(server.dir, 'clone', '-q', '--bare', dir, `${dir}.git`);
  return `${dir}.git`;
}

/** makeDemo fills a server with one week of a team's work. */
export async function makeDemo(server: Server): Promise<Demo> {
  const { api } = server;
  const repo = makeRepository(server);
  const shop = await api.project('Checkout rewrite', {
    description: 'One checkout for web and app, exact to the cent.',
    repo,
    base: 'main',
  });
  await api.project('Design system');
  await api.project('Support tooling');
  const add = (title: string, kind: string, parent: WorkItem | null, status = 'todo', description = '') =>
    api.add(shop, title, { kind, parent_id: parent?.id ?? null, status, description });

  const beta = await add('Open beta', 'milestone', null, 'doing');
  const money = await add('Exact money', 'epic', beta, 'doing', 'No float ever touches an amount.');
  const refunds = await add('Refunds', 'epic', beta);
  const speed = await add('Checkout in one second', 'epic', beta, 'doing');
  const totals = await add(
    'Sum the cart in minor units',
    'task',
    money,
    'doing',
    `Totals are rounded **per line and again at the end**, so they drift by a cent.

- [x] Find every place that rounds
- [x] Sum in minor units
- [ ] The invoice PDF
- [ ] Open carts

Three lines of \`0.335\` must give \`1.01\`.`,
  );
  await add('Find every place that rounds', 'subtask', totals, 'done');
  await add('Move the invoice PDF', 'subtask', totals, 'doing');
  const migrate = await add('Migrate open carts', 'task', money, 'doing');
  const callers = await add('Move callers to the new amounts', 'task', money, 'done');
  await add('Write down the rounding rules', 'task', money, 'done');
  const twice = await add('A refund is never paid twice', 'task', refunds);
  await add('Partial refunds', 'task', refunds);
  await add('Refund e-mail in four languages', 'task', refunds);
  await add('Show the refund on the receipt', 'subtask', twice);
  const shots = await add('Compare every component against production', 'task', speed, 'doing');
  await add('Cache shipping rates', 'task', speed, 'done');
  await add('Load the address book late', 'task', speed);
  await add('Drop the second price request', 'task', speed, 'done');
  await add('Try server-sent totals', 'task', speed, 'cancelled');
  await add('Accessible error summary', 'task', null);
  await add('Gift cards', 'epic', null);

  await server.join('build-2', { max_runs: 4, labels: { zone: 'eu-west', disk: 'nvme' } });
  const gpu = await api.call<Host>('POST', '/hosts', { name: 'gpu-1', labels: { zone: 'eu-west' } });
  await api.call('POST', `/hosts/${gpu.id}/disable`);

  const start = (task: WorkItem, provider: string, part: string, prompt: string): Promise<Run> =>
    api.start(task, prompt, { provider, args: [part] });
  const reaches = (run: Run, status: Run['status']): Promise<void> =>
    until(`${run.id} is ${status}`, async () => (await api.run(run.id)).status === status);
  const done = await start(callers, 'builder', 'done', 'Move every caller of Total() to the new amounts.');
  await reaches(done, 'exited');
  await reaches(
    await start(callers, 'reviewer', 'part', 'Review the move. Who still sends floats?'),
    'exited',
  );
  const failed = await start(twice, 'builder', 'fail', 'Make refunds idempotent by their request id.');
  await reaches(failed, 'failed');
  const shooting = await start(shots, 'reviewer', 'busy', 'Compare every component against production.');
  const working = await start(totals, 'builder', 'work', 'Sum the cart in minor units and round once.');
  const asking = await start(migrate, 'builder', 'ask', 'Migrate open carts to minor units.');
  await until('the migration asks', async () => (await api.run(asking.id)).needs_input);
  for (const run of [working, shooting])
    await until('it reports progress', async () => (await api.run(run.id)).progress_percent !== null);

  return { slug: shop.slug, task: totals, working, asking, failed, done };
}
