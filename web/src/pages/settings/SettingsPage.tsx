import { useQuery } from '@tanstack/react-query';
import { LogOut, Monitor, Moon, Sun } from 'lucide-react';
import type { ReactNode } from 'react';
import { prefix } from '@/api/client';
import { PageHeader } from '@/components/PageHeader';
import { Section } from '@/components/Section';
import { meQuery, versionQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { signOut } from '@/data/signIn';
import { setPref, type Theme, usePrefs } from '@/lib/prefs';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { Switch } from '@/ui/Field';
import { Segmented } from '@/ui/Segmented';
import { Replicas } from './Replicas';
import { Sinks } from './Sinks';
import { Tokens } from './Tokens';

const themes: { value: Theme; label: string; icon: ReactNode }[] = [
  { value: 'system', label: 'System', icon: <Monitor className="size-3.5" /> },
  { value: 'light', label: 'Light', icon: <Sun className="size-3.5" /> },
  { value: 'dark', label: 'Dark', icon: <Moon className="size-3.5" /> },
];

/**
 * SettingsPage has the settings of this browser and, for admins, the access tokens, the sinks and the orchestrators.
 */
export function SettingsPage() {
  useTitle('Settings');
  const theme = usePrefs((prefs) => prefs.theme);
  const admin = useMay('admin');
  return (
    <>
      <PageHeader title="Settings" />
      <div className="overflow-y-auto">
        <div className="mx-auto flex max-w-2xl flex-col gap-6 p-4 sm:p-6">
          <Section title="Appearance" about="Kept in this browser.">
            <div className="flex items-center justify-between gap-4">
              <span className="text-sm">Theme</span>
              <Segmented
                label="Theme"
                value={theme}
                onChange={(value) => setPref('theme', value)}
                options={themes}
              />
            </div>
          </Section>
          <Notifications />
          {admin && (
            <>
              <Tokens />
              <Sinks />
              <Replicas />
            </>
          )}
          <About />
        </div>
      </div>
    </>
  );
}

function Notifications() {
  const notify = usePrefs((prefs) => prefs.notify);
  const possible = typeof Notification !== 'undefined' && window.isSecureContext;
  const denied = possible && Notification.permission === 'denied';
  const change = async (on: boolean): Promise<void> => {
    setPref('notify', on && (await Notification.requestPermission()) === 'granted');
  };
  const hint = !possible
    ? 'Browsers allow notifications only over HTTPS or on localhost. The count in the tab title works everywhere.'
    : denied
      ? 'This browser blocks notifications from here. Allow them in its site settings first.'
      : 'Only while this page is not visible.';
  return (
    <Section title="Notifications">
      <Switch
        label="Tell me when a run needs me"
        hint={hint}
        checked={notify && possible}
        disabled={!possible || denied}
        onChange={change}
      />
    </Section>
  );
}

function About() {
  const { data: version } = useQuery(versionQuery);
  const { data: me } = useQuery(meQuery);
  return (
    <Section title="About">
      <dl className="grid grid-cols-[7rem_1fr] gap-y-2 text-sm">
        <dt className="text-ink-3">You are</dt>
        <dd>{me ? `${me.name}, ${me.role}` : '…'}</dd>
        <dt className="text-ink-3">Version</dt>
        <dd className="font-mono text-xs leading-5">{version ?? '…'}</dd>
        <dt className="text-ink-3">Server</dt>
        <dd className="font-mono text-xs leading-5">{location.origin}</dd>
        <dt className="text-ink-3">API</dt>
        <dd>
          <a href={`${prefix}/docs`} target="_blank" rel="noopener" className="text-accent hover:underline">
            Reference
          </a>
        </dd>
      </dl>
      <div className="flex items-center justify-between gap-4 border-t pt-4">
        <span className="text-sm text-ink-2">Signing out ends this browser's session.</span>
        <Button icon={<LogOut className="size-3.5" />} onClick={() => void signOut()}>
          Sign out
        </Button>
      </div>
    </Section>
  );
}
