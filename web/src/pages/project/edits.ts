import { useState } from 'react';
import type { Project } from '@/api/records';
import type { PatchProject } from '@/api/schema.gen';

/** SettingName is a field of a project that can be changed. */
export type SettingName = keyof PatchProject;

/** Edit is the text that the user typed into a field, and the field's value before. */
interface Edit {
  text: string;
  base: Project[SettingName];
}

/** Edits has every field that the user edited. The other fields show the server's values, also when those change. */
export type Edits = Partial<Record<SettingName, Edit>>;

/** textOf returns a field's value as text for a form. */
export const textOf = (value: Project[SettingName]): string => (value === null ? '' : String(value));

/** Fields whose leading and trailing blanks are kept. */
const verbatim: readonly SettingName[] = ['description', 'setup'];

/** meaningOf converts a field's text into its value. */
export function meaningOf(name: SettingName, text: string): string | number | null {
  if (name === 'max_runs') return text === '' ? null : Number(text);
  if (name === 'keep_days') return Number(text);
  return verbatim.includes(name) ? text : text.trim();
}

/** isChanged reports whether saving an edit would change the field. */
const isChanged = (project: Project, name: SettingName, edit: Edit): boolean =>
  meaningOf(name, edit.text) !== project[name];

/**
 * isTaken reports whether another person changed a field after the edit began, to a value other than the edited one.
 */
const isTaken = (project: Project, name: SettingName, edit: Edit): boolean =>
  isChanged(project, name, edit) && project[name] !== edit.base;

/** useEdits stores the edits of a project's fields until they are saved or discarded. */
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
    /** Edited fields that another person has changed in the meantime. */
    taken: entries.filter(([name, edit]) => isTaken(project, name, edit)).map(([name]) => name),
    /** keepMine accepts that the edit will replace the other person's value. */
    keepMine: (name: SettingName): void =>
      setEdits((now) => (now[name] ? { ...now, [name]: { ...now[name], base: project[name] } } : now)),
    takeBack: (name: SettingName): void => without((other) => other === name),
    takeAllBack: (): void => setEdits({}),
    /** saved removes the edits that were sent, unless they were edited again since. */
    saved: (sent: Edits): void => without((name, edit) => edit === sent[name]),
    patch: Object.fromEntries(
      changed.map(([name, edit]) => [name, meaningOf(name, edit.text)]),
    ) as PatchProject,
    base: Object.fromEntries(changed.map(([name, edit]) => [name, edit.base])) as Partial<Project>,
  };
}
