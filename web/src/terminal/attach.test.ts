import { describe, expect, it } from 'vitest';
import { fromBase64, toBase64 } from './attach';

describe('base64', () => {
  it('carries every byte, also of large pieces', () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256);
    expect(fromBase64(toBase64(bytes))).toEqual(bytes);
    expect(toBase64(new TextEncoder().encode('é漢'))).toBe('w6nmvKI=');
  });
});
