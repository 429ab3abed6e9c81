import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { FileOrder } from './test/support/order.ts'

/** Where `.ci/run` reads the counts. */
const report = 'coverage/tests.json'

/** No test may fall back to the folders of the person who runs it: what is not set explicitly cannot be created. */
const nowhere = '/dev/null/not-set-by-the-test'

/**
 * Not those of delivery, which hold others to the second, and which the garbage of earlier files should not make late; nor
 * those of plans, which listen to every statement of their process.
 */
const inOneProcess = [
  'test/cli/**/*.test.ts',
  'test/{server,sdk}/!(plans).test.ts',
  'test/{server,sdk}/!(delivery)/**/!(plans).test.ts',
]

export default defineConfig({
  test: {
    globalSetup: 'test/support/build.ts',
    pool: 'forks',
    sequence: { sequencer: FileOrder },
    projects: [
      // A server in the test's own process is what most files start. Loading it costs more than most files do, so these share
      // a process, one after the other; nothing may stay behind in it.
      {
        extends: true,
        test: {
          name: 'shared',
          include: inOneProcess,
          isolate: false,
          setupFiles: ['test/support/leftovers.ts', 'test/support/shared-process.ts'],
        },
      },
      // Tests that break the store, fill disks, mock modules and measure: each file has a process of its own.
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: ['test/bench/**', ...inOneProcess],
          setupFiles: ['test/support/leftovers.ts'],
        },
      },
    ],
    // Many tests wait for a process or a deadline: twice as many at a time as there are cores.
    maxWorkers: 2 * availableParallelism(),
    // Real processes on a busy machine. A test that waits for something that never comes still ends.
    testTimeout: 60_000,
    // What is waited for comes; on a busy machine later.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    env: { BRIDGE_HOME: nowhere, BRIDGE_DATA: nowhere, XDG_CACHE_HOME: nowhere },
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    allowOnly: process.env.CI === undefined,
    reporters: ['default', ['json', { outputFile: report }]],
    coverage: { include: ['sdk/**', 'server/**', 'cli/**', 'helper/**'], reportsDirectory: 'coverage' },
  },
})
