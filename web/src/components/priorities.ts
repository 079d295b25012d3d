/** priorities are the priorities of a waiting run, highest first. */
export const priorities = [
  { value: 2, label: 'Highest' },
  { value: 1, label: 'High' },
  { value: 0, label: 'Normal' },
  { value: -1, label: 'Low' },
  { value: -2, label: 'Lowest' },
];

/** priorityName returns the name of a priority. */
export const priorityName = (priority: number): string =>
  priorities.find(({ value }) => value === priority)?.label ?? String(priority);
