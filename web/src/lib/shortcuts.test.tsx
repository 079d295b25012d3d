import { fireEvent, render } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { useShortcuts } from './shortcuts';

function Page({ act, attached }: { act(): void; attached: boolean }) {
  useShortcuts({ c: act });
  useShortcuts({ 'Control+k': act }, { everywhere: true });
  return <div data-attached={attached ? '' : undefined} />;
}

it('every shortcut rests while a terminal is attached, wherever the focus is', () => {
  const act = vi.fn();
  const { rerender } = render(<Page act={act} attached />);
  const press = (): void => {
    fireEvent.keyDown(document.body, { key: 'c', code: 'KeyC' });
    fireEvent.keyDown(document.body, { key: 'k', code: 'KeyK', ctrlKey: true });
  };
  press();
  expect(act).not.toHaveBeenCalled();
  rerender(<Page act={act} attached={false} />);
  press();
  expect(act).toHaveBeenCalledTimes(2);
});
