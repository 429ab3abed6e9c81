/**
 * Sender, recipient and node are each killed at the nth of the system calls that change its disk, for every
 * n. Repeating the same commands produces the exact file, one transfer, and no remaining files on any side.
 *
 * BRIDGE_TRANSFER_DEATHS=all covers every call, a number n every nth call. Without the variable, or without
 * strace, this is skipped: one kill takes two seconds.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canTrace } from '../support/strace.ts'
import { type Death, Stage } from './lab/transfer-stage.ts'

const { BRIDGE_TRANSFER_DEATHS: asked } = process.env
const isRun = asked !== undefined && canTrace
const every = asked === 'all' ? 1 : Number(asked)

let stage: Stage
beforeAll(async () => {
  if (isRun) stage = await Stage.open()
})
afterAll(() => stage?.close())

const syncs = ['fsync', 'fdatasync']
/** SQLite makes none of these calls during normal work, so they concern the files of packages. */
const files = ['rename', 'link', 'linkat', 'unlink', 'unlinkat', 'rmdir', 'mkdir', 'ftruncate', 'pwritev']

test.skipIf(!isRun).each<[Omit<Death, 'call' | 'nth'>, readonly string[]]>([
  [{ mode: 'package', sealed: true, victim: 'sender' }, [...files, ...syncs]],
  [{ mode: 'package', sealed: true, victim: 'recipient' }, [...files, 'pwrite64', ...syncs]],
  [{ mode: 'package', sealed: false, victim: 'recipient' }, [...files, 'pwrite64', ...syncs]],
  [{ mode: 'direct', sealed: true, victim: 'sender' }, [...files, ...syncs]],
  [{ mode: 'direct', sealed: false, victim: 'sender' }, [...files, ...syncs]],
  [{ mode: 'direct', sealed: false, victim: 'recipient' }, [...files, 'pwrite64', ...syncs]],
  [{ mode: 'package', sealed: false, victim: 'server' }, [...files, ...syncs]],
  [{ mode: 'direct', sealed: false, victim: 'server' }, [...files, ...syncs]],
])(
  'a kill at any call that changes the disk, %j, loses, duplicates and leaves nothing',
  { timeout: 3_600_000 },
  async (death, calls) => {
    const counts = await stage.countCalls(death, calls)
    const all = [...counts].flatMap(([call, count]) =>
      Array.from({ length: count }, (_, index): Death => ({ ...death, call, nth: index + 1 })),
    )
    const wrong: string[] = []
    let deaths = 0
    for (const one of all.filter((_, place) => place % every === 0)) {
      const played = await stage.playDeath(one)
      wrong.push(...played.wrong.map((what) => `${one.call} ${one.nth}: ${what}`))
      if (played.died) deaths += 1
      if (played.wrong.length > 0) process.stdout.write(`${wrong.slice(-played.wrong.length).join('\n')}\n`)
    }
    const counted = [...counts].map(([call, count]) => `${count} ${call}`).join(', ')
    process.stdout.write(
      `${JSON.stringify(death)}: ${deaths} deaths, ${wrong.length} wrong; undisturbed: ${counted}\n`,
    )
    expect(wrong).toEqual([])
    expect(deaths).toBeGreaterThan(0)
  },
)
