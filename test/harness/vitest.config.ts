import { defineConfig } from 'vitest/config'

/** No row may fall back to the folders of the person who runs it. */
const nowhere = '/dev/null/not-set-by-the-test'

/** Rows with bounds of 2 and 3 s, which other agents must not slow down. They run alone, after the others. */
const measured = 'test/harness/claude-times.row.ts'

/** Rows with real coding agents, which `npm run test:harness` runs. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    globalSetup: 'test/support/build.ts',
    setupFiles: ['test/support/leftovers.ts'],
    pool: 'forks',
    projects: [
      // Agents mostly wait, so two files run at the same time.
      {
        extends: true,
        test: {
          name: 'rows',
          include: ['test/harness/**/*.row.ts'],
          exclude: [measured],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'measured', include: [measured], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 50 } },
    env: { BRIDGE_HOME: nowhere, BRIDGE_DATA: nowhere, XDG_CACHE_HOME: nowhere },
    reporters: ['verbose', 'json'],
    outputFile: { json: 'coverage/harness.json' },
  },
})
