import { afterEach, expect, test, vi } from 'vitest';
import { storage } from './storage';

afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
});

test('what another tab removed is gone here too', () => {
  storage.setItem('token', 'abc');
  localStorage.removeItem('token');
  expect(storage.getItem('token')).toBeNull();
});

test('a browser that refuses storage remembers for as long as the tab lives', () => {
  const refuse = () => {
    throw new DOMException('refused', 'SecurityError');
  };
  vi.stubGlobal('localStorage', { getItem: refuse, setItem: refuse, removeItem: refuse, clear: () => {} });
  storage.setItem('refused', 'abc');
  expect(storage.getItem('refused')).toBe('abc');
  storage.removeItem('refused');
  expect(storage.getItem('refused')).toBeNull();
});

test('what was refused once and taken later is kept once', () => {
  const refused = vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError');
  });
  storage.setItem('late', 'old');
  expect(storage.getItem('late')).toBe('old');
  refused.mockRestore();
  storage.setItem('late', 'new');
  localStorage.removeItem('late');
  expect(storage.getItem('late')).toBeNull();
});
