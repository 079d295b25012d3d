import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { budget } from './budget.ts';
import { fonts } from './fonts.ts';

// The orchestrator to which the development server forwards /api.
const orchestrator = process.env.SVC_API_URL ?? 'http://127.0.0.1:7898';

export default defineConfig({
  plugins: [react({ jsxImportSource: '@/jsx' }), tailwindcss(), budget(), fonts()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: { target: 'es2022', sourcemap: false, chunkSizeWarningLimit: 1000 },
  worker: { format: 'es' },
  server: { proxy: { '/api': { target: orchestrator, ws: true } } },
  // Test files share their modules: loading them again for each file takes ten times as long as the tests.
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/afterEachTest.ts'],
    restoreMocks: true,
    isolate: false,
  },
});
