import { defineConfig } from 'vitest/config'

/** No row may fall back to the folders of the person who runs it. */
const nowhere = '/dev/null/not-set-by-the-test'

/** Rows with real coding agents, which `npm run test:harness` runs. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    globalSetup: 'test/support/build.ts',
    setupFiles: ['test/support/leftovers.ts'],
    include: ['test/harness/**/*.row.ts'],
    pool: 'forks',
    // A real agent takes a core for seconds, and the rows measure time.
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 50 } },
    env: { BRIDGE_HOME: nowhere, BRIDGE_DATA: nowhere, XDG_CACHE_HOME: nowhere },
    reporters: ['verbose', ['json', { outputFile: 'coverage/harness.json' }]],
  },
})
