import type { ComponentProps } from 'react';
import { availability, type Provider } from '@/api/records';
import { Select } from '@/ui/Field';
import { toolsOf } from './modes';

/** ToolSelect chooses a tool. */
export function ToolSelect({
  providers,
  ...rest
}: { providers: Provider[] } & ComponentProps<typeof Select>) {
  return (
    <Select {...rest} required>
      {toolsOf(providers).map(({ provider }) => (
        <option key={provider.id} value={provider.tool}>
          {provider.name}
          {availability(provider).available === 0 ? ' (on no host)' : ''}
        </option>
      ))}
    </Select>
  );
}
