/** priorities are those of a run that waits, the first to go first. */
export const priorities = [
  { value: 2, label: 'Highest' },
  { value: 1, label: 'High' },
  { value: 0, label: 'Normal' },
  { value: -1, label: 'Low' },
  { value: -2, label: 'Lowest' },
];

/** priorityName is a priority in a word. */
export const priorityName = (priority: number): string =>
  priorities.find(({ value }) => value === priority)?.label ?? String(priority);
