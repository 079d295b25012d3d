/** answerKeys are the keys that most often answer an agent's question, with the server's names. */
export const answerKeys: readonly { key: string; label: string }[] = [
  ...['y', 'n', '1', '2', '3'].map((key) => ({ key, label: key })),
  { key: 'Enter', label: 'Enter' },
  { key: 'Escape', label: 'Esc' },
];
