import type { Host, Project } from '@/api/records';
import { FilterMenu } from './FilterMenu';

/** ProjectFilter filters a list by project, by its slug. */
export function ProjectFilter({
  projects,
  value,
  onChange,
}: {
  projects: Project[];
  value: string | undefined;
  onChange(slug: string | undefined): void;
}) {
  const options = projects.map((each) => ({ value: each.slug, label: each.name }));
  return <FilterMenu label="Project" value={value} onChange={onChange} options={options} />;
}

/** PlaceFilters filters a list by project and by host, by its name. */
export function PlaceFilters({
  projects,
  hosts,
  value,
  onChange,
}: {
  projects: Project[];
  hosts: Host[];
  value: { project?: string; host?: string };
  onChange(change: { project?: string } | { host?: string }): void;
}) {
  return (
    <>
      <ProjectFilter
        projects={projects}
        value={value.project}
        onChange={(project) => onChange({ project })}
      />
      <FilterMenu
        label="Host"
        value={value.host}
        onChange={(host) => onChange({ host })}
        options={hosts.map((each) => ({ value: each.name, label: each.name }))}
      />
    </>
  );
}
