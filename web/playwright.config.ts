import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

// The installed browser of the system is used: nothing is downloaded.
const browsers = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const firefoxes = [
  '/usr/bin/firefox',
  '/usr/bin/firefox-esr',
  '/Applications/Firefox.app/Contents/MacOS/firefox',
];

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'test-results',
  // Two cores can run two browsers and their servers. More workers would only wait for each other.
  workers: 2,
  // The timeouts end tests that hang; they measure nothing. A busy machine takes five times as long as an idle one.
  timeout: 240_000,
  expect: { timeout: 30_000 },
  reporter: [['list']],
  forbidOnly: true,
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    trace: 'off',
    actionTimeout: 30_000,
    navigationTimeout: 60_000,
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? browsers.find((path) => existsSync(path)),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        // This host name is not a loopback name, so its origin is not a secure context.
        '--host-resolver-rules=MAP svc.test 127.0.0.1',
      ],
    },
  },
  projects: [
    // Only the specs directly in e2e: a glob would also match those of the other projects.
    { name: 'journeys', testMatch: /e2e\/[^/]+\.spec\.ts$/, fullyParallel: true },
    // The whole workflow, once with each input device. Each takes minutes and starts twenty runs of its own.
    {
      name: 'trial',
      testMatch: 'trial/*.spec.ts',
      workers: 1,
      timeout: 900_000,
      // The twenty runs keep a small machine busy.
      expect: { timeout: 120_000 },
    },
    // The installed Firefox, over its own protocol. Without Firefox its journeys are skipped.
    {
      name: 'firefox',
      testMatch: 'firefox/*.spec.ts',
      use: {
        browserName: 'firefox',
        channel: 'moz-firefox',
        launchOptions: {
          executablePath: process.env.FIREFOX ?? firefoxes.find((path) => existsSync(path)),
          args: [],
        },
      },
    },
    // Nothing else may run on the machine during a measurement.
    { name: 'bench', testMatch: 'bench/*.bench.ts', fullyParallel: false, workers: 1 },
    { name: 'memory', testMatch: 'bench/*.memory.ts', fullyParallel: false, workers: 1 },
    { name: 'screenshots', testMatch: 'screenshots/*.shots.ts', workers: 1 },
  ],
});
