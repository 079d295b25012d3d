import { describe, expect, it } from 'vitest';
import type { Line } from '@/terminal/lines';
import { Finder } from './find';

const lines = (...texts: string[]): Line[] => texts.map((text) => ({ text, style: {} }));

describe('Finder', () => {
  it('searches what is visible, whatever the case', () => {
    const log = lines('\x1b[31mEr\x1b[0mror: disk', 'fine', 'ERROR: net\r');
    expect(new Finder().find(log, 1, 'error: ')).toEqual([0, 2]);
  });

  it('goes on behind what it has seen, and looks again at a line that grows', () => {
    const finder = new Finder();
    expect(finder.find(lines('hit', 'ha'), 1, 'hit')).toEqual([0]);
    expect(finder.find(lines('hit', 'hahit', 'no'), 1, 'hit')).toEqual([0, 1]);
    expect(finder.find(lines('hit', 'hahit', 'no', 'hit'), 1, 'hit')).toEqual([0, 1, 3]);
    expect(finder.find(lines('hit', 'hahit', 'no', 'hit'), 1, 'hit')).toEqual([0, 1, 3]);
  });

  it('narrows what it found when the text grows, and widens when it shrinks', () => {
    const finder = new Finder();
    const log = lines('one', 'once', 'two', 'o');
    expect(finder.find(log, 1, 'o')).toEqual([0, 1, 2, 3]);
    expect(finder.find(log, 1, 'on')).toEqual([0, 1]);
    expect(finder.find([...log, ...lines('onward')], 1, 'onc')).toEqual([1]);
    expect(finder.find([...log, ...lines('onward')], 1, 'on')).toEqual([0, 1, 4]);
  });

  it('begins anew for another text and when old lines were let go', () => {
    const finder = new Finder();
    finder.find(lines('a', 'b', 'a'), 1, 'a');
    expect(finder.find(lines('a', 'b', 'a'), 1, 'b')).toEqual([1]);
    expect(finder.find(lines('b', 'a'), 2, 'b')).toEqual([0]);
    expect(finder.find(lines('b', 'a'), 2, '')).toEqual([]);
  });
});
