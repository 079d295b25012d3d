/** answerKeys are the keys that questions of agents are usually answered with, as the server names them. */
export const answerKeys: readonly { key: string; label: string }[] = [
  ...['y', 'n', '1', '2', '3'].map((key) => ({ key, label: key })),
  { key: 'Enter', label: 'Enter' },
  { key: 'Escape', label: 'Esc' },
];
