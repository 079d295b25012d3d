import { render } from '@testing-library/react';
import { expect, test } from 'vitest';
import { visible } from './visible';

test('what hides or reorders text is spelled out', () => {
  expect(visible('plain')).toBe('plain');
  expect(visible('\u202egpj.exe\u2066\u200f')).toBe('<U+202E>gpj.exe<U+2066><U+200F>');
  expect(visible('ad\u200bmin\ufeff\u00ad\u3164')).toBe('ad<U+200B>min<U+FEFF><U+00AD><U+3164>');
  expect(visible('\u001b[2J\u0000\u007f\u009b')).toBe('␛[2J␀␡<U+009B>');
  expect(visible('a\u200db \u{e0041}')).toBe('a<U+200D>b <U+E0041>');
});

test('what scripts and emoji need stays', () => {
  for (const text of [
    'two\nlines\t',
    '👩\u200d💻 ❤️ 🏴\u{e0067}\u{e007f}',
    'می\u200cخواهم שלום',
    'é e\u0301 日本',
  ]) {
    expect(visible(text)).toBe(text);
  }
});

test('no element shows a text that hides something', () => {
  const name = 'a\u202eb\u200b';
  const { container } = render(
    <p title={name}>
      {name} and <b>{name}</b>
      <input defaultValue={name} />
    </p>,
  );
  expect(container.textContent).toBe('a<U+202E>b<U+200B> and a<U+202E>b<U+200B>');
  expect(container.querySelector('p')?.title).toBe('a<U+202E>b<U+200B>');
  expect(container.querySelector('input')?.value).toBe(name);
});
