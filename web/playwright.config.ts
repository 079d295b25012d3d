import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

// The browser is the system's: nothing is downloaded.
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
  // Two cores carry two browsers beside their servers; more only wait for each other.
  workers: 2,
  // Limits are there to end what hangs, not to measure: a busy machine takes five times as long as a quiet one.
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
        // A name that is not the loopback's own, so that its origin is not a secure context.
        '--host-resolver-rules=MAP svc.test 127.0.0.1',
      ],
    },
  },
  projects: [
    // Those of e2e itself: a glob would find the other projects' too.
    { name: 'journeys', testMatch: /e2e\/[^/]+\.spec\.ts$/, fullyParallel: true },
    // The whole loop, once with each means of input. Each takes minutes, and twenty runs of its own.
    {
      name: 'trial',
      testMatch: 'trial/*.spec.ts',
      workers: 1,
      timeout: 900_000,
      // Twenty runs of its own keep a small machine busy.
      expect: { timeout: 120_000 },
    },
    // Firefox as it is installed, over the protocol that it speaks itself; without one, its journeys are skipped.
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
    // A measurement shares the machine with nothing else.
    { name: 'bench', testMatch: 'bench/*.bench.ts', fullyParallel: false, workers: 1 },
    { name: 'memory', testMatch: 'bench/*.memory.ts', fullyParallel: false, workers: 1 },
    { name: 'screenshots', testMatch: 'screenshots/*.shots.ts', workers: 1 },
  ],
});
