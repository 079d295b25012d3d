import { expect, it } from 'vitest';
import { webAddress } from './links';

it('a link in the output of an agent leads to the web or nowhere', () => {
  expect(webAddress('https://example.com/a?b=c')).toBe('https://example.com/a?b=c');
  // A letter that looks like another one is shown in punycode.
  expect(webAddress('http://exаmple.com/')).toBe('http://xn--exmple-4nf.com/');
  for (const text of ['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', '/settings', 'svc'])
    expect(webAddress(text)).toBeNull();
});
