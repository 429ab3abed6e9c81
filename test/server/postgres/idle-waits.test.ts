/**
 * How many statements reach PostgreSQL for waits in which nothing happens. Runs with `BRIDGE_TEST_STORE=postgres`.
 * `BRIDGE_LISTENERS=5000` is the full figure, over the minute in which each wait renews its contact.
 */
import { expect, test } from 'vitest'
import { countIdleWaits, mostASecond } from '../../support/idle-waits.ts'
import { isOnPostgres } from '../../support/postgres.ts'

const long = process.env.BRIDGE_LISTENERS
const listeners = Number(long ?? 300)
const seconds = long === undefined ? 4 : 65

test.skipIf(!isOnPostgres)(
  `${listeners} idle waits cost at most ${mostASecond} statements a second`,
  async () => {
    const { alone, more, most, toOpen, openedAgain, arrived } = await countIdleWaits(listeners, seconds)
    process.stdout.write(
      `${listeners} idle waits: ${more.toFixed(1)} statements a second beside ${alone.toFixed(1)} of the node\n`,
    )
    // The control: the counter sees the statements by which the waits were opened.
    expect(toOpen).toBeGreaterThan(listeners / 32)
    expect(openedAgain).toBe(0)
    expect(more, most.join('\n')).toBeLessThanOrEqual(mostASecond)
    expect(arrived).toBe(0)
  },
  540_000,
)
