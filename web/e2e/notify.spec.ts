import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { devices } from '@playwright/test';
import { binary } from './support/server.ts';
import { expect, Lab, Server, test, until } from './support/test.ts';

const { viewport, deviceScaleFactor, hasTouch, isMobile, userAgent } = devices['Pixel 7'];
test.use({ viewport, deviceScaleFactor, hasTouch, isMobile, userAgent });

/** Pushed is a message as an ntfy server receives it. */
interface Pushed {
  id: string;
  title: string;
  click: string;
  priority: string;
  text: string;
}

/** phoneService is a server that accepts messages like an ntfy server. */
async function phoneService() {
  const got: Pushed[] = [];
  const service = createServer(async (request, answer) => {
    let text = '';
    for await (const part of request) text += part;
    const header = (name: string) => String(request.headers[name] ?? '');
    got.push({
      id: header('svc-notification-id'),
      title: header('title'),
      click: header('click'),
      priority: header('priority'),
      text,
    });
    answer.end('{}');
  }).listen(0, '127.0.0.1');
  await once(service, 'listening');
  return {
    got,
    url: `http://127.0.0.1:${(service.address() as AddressInfo).port}/topic`,
    close: () => service.close(),
  };
}

test('of three runs one asks: one message, one tap, one answer', async ({ page }) => {
  const phone = await phoneService();
  const server = await Server.start({
    config: `[[notify]]\nname = "phone"\nkind = "ntfy"\nurl = "${phone.url}"\n`,
  });
  try {
    const lab = await Lab.of(server);
    await lab.run('sleep 300', 'Works');
    await lab.run('sleep 300', 'Works, too');
    const asks = await lab.run(
      'svc exec signal progress --message "Which colour?" --needs-input; read -r line; echo "chose <$line>"; sleep 300',
      'Asks',
    );
    await until('the phone was told', async () => phone.got.length > 0);
    const [message] = phone.got;
    expect(message).toMatchObject({ title: 'Asks', text: 'needs input: Which colour?', priority: 'high' });
    expect(message?.click).toBe(`${server.url}/runs/${asks.id}`);

    // The message links to the run. A phone that is not signed in is asked for the token first.
    await page.goto(server.link('/inbox'));
    await expect(page.getByRole('heading', { name: 'Inbox' })).toBeVisible();
    await page.goto(String(message?.click));
    await expect(page.getByText('Which colour?').first()).toBeVisible();
    await page.getByRole('button', { name: 'Answer' }).tap();
    await page.getByLabel('Text for the agent').fill('green');
    await page.getByRole('button', { name: 'Send' }).tap();
    await until('the agent was answered', async () =>
      (await server.api.log(asks.id)).includes('chose <green>'),
    );
    expect(phone.got).toHaveLength(1);
  } finally {
    await server.close();
    phone.close();
  }
});

test('the page, the CLI and the API list the same entries in the same order', async ({ page }) => {
  const server = await Server.start();
  try {
    const lab = await Lab.of(server);
    for (const title of ['First', 'Second', 'Third']) {
      await lab.reaches(await server.api.start(await lab.add(title), 'exit 3'), 'failed');
    }
    await lab.run('svc exec signal progress --message "Now?" --needs-input; sleep 300', 'Fourth');
    const entries = async () =>
      (await server.api.call<{ items: { key: string; title: string }[] }>('GET', '/inbox')).items;
    await until('four entries', async () => (await entries()).length === 4);
    const titles = (await entries()).map(({ title }) => title);
    expect(titles).toEqual(['Fourth', 'Third', 'Second', 'First']);
    const cli = execFileSync(binary, ['inbox', '-o', 'name'], {
      env: { ...process.env, SVC_API_URL: server.url, SVC_TOKEN: server.token, SVC_DATA_DIR: server.dir },
      encoding: 'utf8',
    });
    expect(cli.trim().split('\n')).toEqual((await entries()).map(({ key }) => key));
    await page.goto(server.link('/inbox'));
    const rows = page.getByRole('main').getByRole('listitem');
    await expect(rows).toHaveCount(4);
    for (const [i, title] of titles.entries()) await expect(rows.nth(i)).toContainText(title);
  } finally {
    await server.close();
  }
});
