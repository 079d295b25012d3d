import { useState } from 'react';
import type { Project } from '@/api/records';
import type { PatchProject } from '@/api/schema.gen';

/** SettingName is a field of a project that can be changed. */
export type SettingName = keyof PatchProject;

/** Edit is what someone has typed into a field, and what the field was before. */
interface Edit {
  text: string;
  base: Project[SettingName];
}

/** Edits is every field that was touched. The others show what the server has, also when that changes. */
export type Edits = Partial<Record<SettingName, Edit>>;

/** textOf is a field's value as a form shows it. */
export const textOf = (value: Project[SettingName]): string => (value === null ? '' : String(value));

/** Texts in which blanks at the ends may be meant. */
const verbatim: readonly SettingName[] = ['description', 'setup'];

/** meaningOf is what a field's text means. */
export function meaningOf(name: SettingName, text: string): string | number | null {
  if (name === 'max_runs') return text === '' ? null : Number(text);
  if (name === 'keep_days') return Number(text);
  return verbatim.includes(name) ? text : text.trim();
}

/** isChanged reports whether a field would become something else. */
const isChanged = (project: Project, name: SettingName, edit: Edit): boolean =>
  meaningOf(name, edit.text) !== project[name];

/** isTaken reports whether someone else has changed a field since it was touched, to something that is not wanted here. */
const isTaken = (project: Project, name: SettingName, edit: Edit): boolean =>
  isChanged(project, name, edit) && project[name] !== edit.base;

/** useEdits holds what was typed over a project's fields until it is saved or taken back. */
export function useEdits(project: Project) {
  const [edits, setEdits] = useState<Edits>({});
  const entries = Object.entries(edits) as [SettingName, Edit][];
  const without = (drop: (name: SettingName, edit: Edit) => boolean): void =>
    setEdits((now) =>
      Object.fromEntries(
        (Object.entries(now) as [SettingName, Edit][]).filter(([name, edit]) => !drop(name, edit)),
      ),
    );
  const changed = entries.filter(([name, edit]) => isChanged(project, name, edit));
  return {
    edits,
    text: (name: SettingName): string => edits[name]?.text ?? textOf(project[name]),
    set: (name: SettingName, text: string): void =>
      setEdits((now) => ({ ...now, [name]: { text, base: now[name] ? now[name].base : project[name] } })),
    changed: changed.map(([name]) => name),
    /** Fields that someone else has changed meanwhile. */
    taken: entries.filter(([name, edit]) => isTaken(project, name, edit)).map(([name]) => name),
    /** Mine replaces what someone else has made of the field. */
    keepMine: (name: SettingName): void =>
      setEdits((now) => (now[name] ? { ...now, [name]: { ...now[name], base: project[name] } } : now)),
    takeBack: (name: SettingName): void => without((other) => other === name),
    takeAllBack: (): void => setEdits({}),
    /** What was saved is no edit any more, unless it was edited since. */
    saved: (sent: Edits): void => without((name, edit) => edit === sent[name]),
    patch: Object.fromEntries(
      changed.map(([name, edit]) => [name, meaningOf(name, edit.text)]),
    ) as PatchProject,
    base: Object.fromEntries(changed.map(([name, edit]) => [name, edit.base])) as Partial<Project>,
  };
}
