/**
 * Counts statements in a process of its own, whose environment names the store, and prints the number. The first
 * argument is `send`, or `waits` with the number of waits and of seconds.
 */
import { countIdleWaits } from '../../support/idle-waits.ts'
import { onServer, pairs, sendsEach, spread } from '../../support/statement-counts.ts'

const [what, waits, seconds] = process.argv.slice(2)

async function count(): Promise<number> {
  if (what === 'send') return onServer(pairs, (world) => sendsEach(world, spread(world)))
  const { more, openedAgain } = await countIdleWaits(Number(waits), Number(seconds))
  if (openedAgain > 0) throw new Error('waits broke while their statements were counted')
  return more
}

process.stdout.write(`${await count()}\n`)
process.exit()
