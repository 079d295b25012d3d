import { beforeEach, expect, it } from 'vitest';
import { dropDraft, readDraft, writeDraft } from './drafts';

beforeEach(() => localStorage.clear());

it('a draft is kept with what it was written on top of, until it is dropped', () => {
  writeDraft('a', 'mine', 'theirs');
  expect(readDraft('a')).toMatchObject({ text: 'mine', base: 'theirs' });
  dropDraft('a');
  expect(readDraft('a')).toBeNull();
});

it('a text that was changed back is no draft', () => {
  writeDraft('a', 'mine', 'theirs');
  expect(writeDraft('a', 'theirs', 'theirs')).toBeNull();
  expect(readDraft('a')).toBeNull();
});

it('of very many the ones changed last are kept', () => {
  for (let i = 0; i < 45; i++) writeDraft(`d${i}`, 'text', '');
  writeDraft('d5', 'again', '');
  writeDraft('d45', 'text', '');
  expect(readDraft('d4')).toBeNull();
  expect(readDraft('d5')?.text).toBe('again');
  expect(readDraft('d6')).toBeNull();
  expect(readDraft('d45')).not.toBeNull();
});

it('what is no draft is none', () => {
  localStorage.setItem('svc.draft.a', '{');
  expect(readDraft('a')).toBeNull();
});
