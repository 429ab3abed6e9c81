/**
 * With strace: checks for every answer that its sync ended before, and simulates power cuts that must lose no
 * answered write. Both checks must detect a server, or a disk, without syncs.
 */
import { expect, test } from 'vitest'
import { sqliteOnly } from '../support/one-store.ts'
import { canTrace } from '../support/strace.ts'
import { auditCommits, type CommitAudit } from './lab/commit-audit.ts'
import { type CutOptions, type CutReport, cutPower } from './lab/power-cuts.ts'
import { linesOf } from './lab/system-calls.ts'
import { type TracedLoad, tracedLoad } from './lab/traced-load.ts'

sqliteOnly('test/faults/postgres/restart.test.ts')

const cuts = Number(process.env.BRIDGE_POWER_CUTS ?? 4)
const answers = Math.max(10 * Number(process.env.BRIDGE_KILLS ?? 12), 5 * cuts)
const answersOfControl = 40
const seed = 20261121

const cutsOfControl = Math.max(3, cuts / 10)
const say = (what: string) => process.stderr.write(`power cuts: ${what}\n`)

if (!canTrace)
  say('strace is absent or may not attach: nothing is cut, and no order of syncs and answers is checked')
else if (process.env.BRIDGE_POWER_CUTS === undefined) say('a few; BRIDGE_POWER_CUTS=200 makes more')

function lookAt(load: TracedLoad, more: Partial<CutOptions> = {}): { audit: CommitAudit; cut: CutReport } {
  return { audit: auditCommits(linesOf(load.trace)), cut: cutPower({ ...load, cuts, seed, ...more }) }
}

test.skipIf(!canTrace)(
  'the WAL is synced before every answer, and no power cut loses an answered write',
  { timeout: 300_000 + cuts * 5000 },
  async () => {
    await tracedLoad(answers, { foldEvery: 60, scrubs: true }, (load) => {
      const { audit, cut } = lookAt(load)
      expect(audit.wrong).toEqual([])
      expect(audit.answers).toBeGreaterThanOrEqual(answers)
      expect(audit.messages).toBeGreaterThan(answers / 5)
      expect(audit.syncs).toBeGreaterThan(0)
      expect(cut.wrong).toEqual([])
      expect(cut.disks).toBeGreaterThan(cuts)
      expect(cut.inFoldings).toBeGreaterThan(0)
      expect(cut.atCutOffs).toBeGreaterThan(0)
      expect(cut.effects).toBeGreaterThan(0)
      say(
        `${cut.disks} disks of ${cuts} cuts, ${cut.inFoldings} in foldings, ${cut.atCutOffs} while the log is cut off, after up to ${cut.told} answers`,
      )
      // The same load on disks that report syncs of one of the files without making them.
      for (const unsyncedFile of ['', '-wal'] as const) {
        const { wrong, disks } = cutPower({ ...load, cuts: cutsOfControl, seed, unsyncedFile })
        say(`bridge.db${unsyncedFile} unsynced: ${wrong.length} of ${disks} disks are wrong`)
        expect(wrong.length).toBeGreaterThan(0)
      }
    })
  },
)

test.skipIf(!canTrace)('both checks detect a server that never syncs', async () => {
  const { audit, cut } = await tracedLoad(answersOfControl, { control: 'no-sync' }, (load) =>
    lookAt(load, { cuts: cutsOfControl }),
  )
  expect(audit.wrong.length).toBeGreaterThan(audit.answers / 10)
  expect(cut.wrong.length).toBeGreaterThan(cut.disks / 4)
})

test.skipIf(!canTrace)('the audit detects a server that answers before it commits', async () => {
  const audit = await tracedLoad(answersOfControl, { control: 'answers-before-commit' }, ({ trace }) =>
    auditCommits(linesOf(trace)),
  )
  // The late commit is early enough for answers that wait for the sync of another group at that moment.
  expect(audit.wrong.length).toBeGreaterThan(audit.answers / 10)
})
