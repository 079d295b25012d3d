import { describe, expect, it } from 'vitest';
import { isLoopback, joinCommand } from './joinCommand';

describe('joinCommand', () => {
  it('quotes what a shell would read otherwise', () => {
    expect(joinCommand('http://10.0.0.1:7898', "ann's box", 'abc')).toBe(
      "SVC_WORKER_TOKEN=abc svc worker --store-token --server http://10.0.0.1:7898 --host-name 'ann'\\''s box'",
    );
    expect(joinCommand('http://x', '$(reboot)', 'a;b')).toContain("--host-name '$(reboot)'");
  });
});

describe('isLoopback', () => {
  it.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['[::1]', true],
    ['10.0.0.1', false],
    ['localhost.example', false],
  ])('of %s is %s', (name, is) => {
    expect(isLoopback(name)).toBe(is);
  });
});
