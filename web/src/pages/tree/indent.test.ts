import { describe, expect, it } from 'vitest';
import { item } from '@/live/fixtures';
import { dropOn, indent, nudge, outdent, zoneOf } from './indent';

const a = item('a');
const b = item('b', { parent_id: 'a', path: 'a/b' });
const c = item('c');
const d = item('d');
const items = [a, b, c, d];

describe('the tree', () => {
  it('indents under the sibling above, behind its last child', () => {
    expect(indent(items, c)).toEqual({ parent_id: 'a', after: 'b' });
    expect(indent(items, d)).toEqual({ parent_id: 'c' });
    expect(indent(items, a)).toBeNull();
    expect(indent(items, b)).toBeNull();
  });

  it('outdents to beside the parent', () => {
    expect(outdent(items, b)).toEqual({ parent_id: null, after: 'a' });
    expect(outdent(items, a)).toBeNull();
  });

  it('moves among siblings only', () => {
    expect(nudge(items, c, -1)).toEqual({ before: 'a' });
    expect(nudge(items, d, 1)).toBeNull();
    expect(nudge(items, b, 1)).toBeNull();
  });

  it('drops at the edges or onto a row, never into itself', () => {
    expect(dropOn(items, d, b, 'before')).toEqual({ parent_id: 'a', before: 'b' });
    expect(dropOn(items, d, a, 'inside')).toEqual({ parent_id: 'a', after: 'b' });
    expect(dropOn(items, a, b, 'inside')).toBeNull();
    expect([zoneOf(2, 0, 40), zoneOf(20, 0, 40), zoneOf(39, 0, 40)]).toEqual(['before', 'inside', 'after']);
  });
});
