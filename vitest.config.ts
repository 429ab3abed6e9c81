import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { longFiles } from './test/support/long-files.ts'
import { leftOut } from './test/support/one-store-files.ts'
import { FileOrder } from './test/support/order.ts'

/** Where `.ci/run` reads the counts. */
const report = 'coverage/tests.json'

/**
 * No test may fall back to the folders of the person who runs it: what is not set explicitly cannot be
 * created.
 */
const nowhere = '/dev/null/not-set-by-the-test'

/** Tests of the owner's page in Chromium: `npm run test:page`. The first one is also part of `npm test`. */
const smoke = 'test/portal/smoke.test.ts'
const page = 'test/portal/*.test.ts'

/** Tests of what only SQLite does. */
const notHere = leftOut(import.meta.dirname, process.env.BRIDGE_TEST_STORE)

/** Files that mock modules, or listen to every statement of their process. */
const aProcessEach = ['test/faults/fencing-control.test.ts', 'test/**/query-plans.test.ts']

const setupFiles = ['test/support/leftovers.ts', 'test/support/shared-process.ts']

export default defineConfig({
  test: {
    globalSetup: 'test/support/build.ts',
    pool: 'forks',
    sequence: { sequencer: FileOrder },
    projects: [
      // Loading a server takes longer than most files do, so files share a process, one after the other.
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/bench/**',
            ...aProcessEach,
            ...longFiles,
            page.replace('*', '!(smoke)'),
            ...notHere,
          ],
          isolate: false,
          setupFiles,
        },
      },
      // `npm run test:long`.
      {
        extends: true,
        test: { name: 'long', include: [...longFiles], exclude: notHere, isolate: false, setupFiles },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: aProcessEach,
          exclude: notHere,
          setupFiles: ['test/support/leftovers.ts'],
        },
      },
      // All files share one Chromium, each with browsers of its own in it.
      {
        extends: true,
        test: {
          name: 'page',
          include: [page],
          exclude: [smoke],
          isolate: false,
          globalSetup: ['test/support/build.ts', 'test/portal/one-chromium.ts'],
          setupFiles,
        },
      },
    ],
    // Many tests wait for a process or a deadline: twice as many at a time as there are cores.
    maxWorkers: 2 * availableParallelism(),
    // These end a test that waits for an event that never comes. No promise of the node is among them: real
    // processes on a busy machine take minutes. A promise about time is checked in the test itself.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 10_000,
    env: { BRIDGE_HOME: nowhere, BRIDGE_DATA: nowhere, XDG_CACHE_HOME: nowhere },
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    allowOnly: process.env.CI === undefined,
    reporters: ['default', 'json'],
    outputFile: { json: report },
    coverage: { include: ['sdk/**', 'server/**', 'cli/**', 'helper/**'], reportsDirectory: 'coverage' },
  },
})
