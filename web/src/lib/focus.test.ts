import { afterEach, expect, it, vi } from 'vitest';
import { focusIfLost, focusSoon, rowSelector } from './focus';

// The timeouts only end a test that hangs: a busy machine is slow.
vi.setConfig({ testTimeout: 60_000 });
afterEach(() => document.body.replaceChildren());

const frame = () => new Promise(requestAnimationFrame);
const draw = (html: string): void => {
  document.body.innerHTML = html;
};
const focused = (): string | undefined => document.activeElement?.id;

it('focuses what is about to be drawn', async () => {
  focusSoon('#late');
  await frame();
  draw('<button id="late"></button>');
  await frame();
  expect(focused()).toBe('late');
});

it('takes the focus from something else only when it is asked to', async () => {
  draw('<button id="here"></button><button id="there"></button>');
  document.getElementById('here')?.focus();
  focusIfLost('#there');
  await frame();
  expect(focused()).toBe('here');
  focusSoon('#there');
  await frame();
  expect(focused()).toBe('there');
});

it('puts a focus that went away with what had it on the row it was about', async () => {
  draw('<ul><li data-row="a"><input type="checkbox"><a id="row" href="/a">A</a></li></ul><button id="bar">');
  document.getElementById('bar')?.focus();
  focusIfLost(rowSelector('a'));
  document.getElementById('bar')?.remove();
  await frame();
  expect(focused()).toBe('row');
});

it('counts the page itself, which has the focus after a way to it, as none', async () => {
  draw('<main id="main" tabindex="-1"><button data-card-focus="a" id="card"></button></main>');
  document.getElementById('main')?.focus();
  focusIfLost(rowSelector('a'));
  await frame();
  expect(focused()).toBe('card');
});

it('leaves a lost focus with the page when what it looks for is not drawn', async () => {
  draw('<main id="main" tabindex="-1"></main><button id="gone"></button>');
  document.getElementById('gone')?.focus();
  focusIfLost(rowSelector('a'));
  await frame();
  expect(focused()).toBe('gone');
  document.getElementById('gone')?.remove();
  await frame();
  expect(focused()).toBe('main');
});
