/**
 * Files of `npm run test:long`, which `npm test` leaves out: kills, full figures, and programs that run for
 * seconds.
 *
 * `npm test` keeps a shorter test of each promise. CI runs both. `npx vitest run <file>` runs any of them.
 */
export const longFiles: readonly string[] = [
  'test/cli/admin-examples.test.ts',
  'test/cli/authority.test.ts',
  'test/cli/claim-keep.test.ts',
  'test/cli/direct.test.ts',
  'test/cli/hooks/full-inbox.test.ts',
  'test/cli/hooks/launch-faults.test.ts',
  'test/cli/simultaneous-transfers.test.ts',
  'test/cli/tls.test.ts',
  'test/contract/published.test.ts',
  'test/deploy/proxies.test.ts',
  'test/examples/examples.test.ts',
  'test/examples/sdk-page.test.ts',
  'test/faults/disk-errors.test.ts',
  'test/faults/held-reader.test.ts',
  'test/faults/mid-commit.test.ts',
  'test/faults/migration-kills.test.ts',
  'test/faults/object-store.test.ts',
  'test/faults/power-cut.test.ts',
  'test/faults/process-faults.test.ts',
  'test/faults/replay.test.ts',
  'test/faults/retention-kills.test.ts',
  'test/faults/runner-kills.test.ts',
  'test/faults/transfer-endings.test.ts',
  'test/faults/transfer-kills.test.ts',
  'test/journeys/thousands.test.ts',
  'test/sdk/delivery/loss.test.ts',
  'test/sdk/delivery/processes.test.ts',
  'test/sdk/delivery/restart.test.ts',
  'test/server/database/durability.test.ts',
  'test/server/delivery/scale.test.ts',
  'test/server/delivery/slow-readers.test.ts',
  'test/server/list-page-size.test.ts',
  'test/server/moves/package-kills.test.ts',
  'test/transcripts/guides.test.ts',
]
