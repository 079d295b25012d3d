import { describe, expect, it } from 'vitest';
import { fromBase64, toBase64 } from './attach';

describe('base64', () => {
  it('carries every byte, also of large pieces', () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256);
    expect(Buffer.compare(fromBase64(toBase64(bytes)), bytes)).toBe(0);
    expect(toBase64(new TextEncoder().encode('é漢'))).toBe('w6nmvKI=');
  });
});
