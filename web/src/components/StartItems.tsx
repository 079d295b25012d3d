import { useQuery } from '@tanstack/react-query';
import { ChevronDown, Play } from 'lucide-react';
import { availability, itemRef, type Project, type Provider, type WorkItem } from '@/api/records';
import { useBulkRuns } from '@/data/bulk';
import { providersQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { usePrefs } from '@/lib/prefs';
import { Button } from '@/ui/Button';
import { Menu, MenuItem } from '@/ui/Menu';
import { MenuButton } from '@/ui/MenuButton';
import { confirmBulk } from './bulkAction';
import { modelFor, preferred, toolsOf } from './modes';
import { promptFor } from './startRun';

const runsOf = (count: number): string => (count === 1 ? '1 run' : `${count} runs`);

/** StartItems queues one run for each of many tasks, with a chosen tool. Without tasks or tools it renders nothing. */
export function StartItems({
  project,
  items,
  onDone,
}: {
  project: Project;
  items: readonly WorkItem[];
  onDone(): void;
}) {
  const bulk = useBulkRuns();
  const may = useMay('operator');
  const last = usePrefs((prefs) => prefs.lastRun);
  const { data: providers = [] } = useQuery(providersQuery);
  const first = preferred(providers, project.provider, last?.provider);
  // The default tool comes first. Tools that no host has are left out.
  const tools = toolsOf(providers)
    .map(({ provider }) => provider)
    .filter((provider) => availability(provider).available > 0)
    .sort((a, b) => Number(b.tool === first?.tool) - Number(a.tool === first?.tool));
  if (may === false || items.length === 0 || tools.length === 0) return null;
  const start = (tool: Provider): void => {
    const model = modelFor(tool, project, last);
    confirmBulk({
      after: onDone,
      title: `Start ${runsOf(items.length)} with ${tool.name}?`,
      about: `Each task gets a run${model ? ` with the model ${model}` : ''}, whose prompt is its title and description. It waits in the queue until a host has room.`,
      button: `Start ${runsOf(items.length)}`,
      items,
      nameOf: (item) => `${itemRef(item)} ${item.title}`,
      act: bulk.start((item) => ({ provider: tool.id, model, prompt: promptFor(item) })),
      said: (done) => `${runsOf(done)} queued`,
    });
  };
  return (
    <MenuButton
      trigger={(props) => (
        <Button {...props} size="sm" icon={<Play className="size-3.5" />}>
          Start {items.length}
          <ChevronDown className="size-3.5 text-ink-3" />
        </Button>
      )}
      menu={(place) => (
        <Menu {...place} label="Start with">
          {tools.map((tool) => (
            <MenuItem key={tool.id} onSelect={() => start(tool)}>
              {tool.name}
            </MenuItem>
          ))}
        </Menu>
      )}
    />
  );
}
