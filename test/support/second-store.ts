/**
 * Opens the store of a data folder in another process than its server. Spends the given nonces simultaneously
 * and prints the number of accepted ones. Argument: the data folder. Input: one JSON line, `Nonce[]`.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { ApiError } from '../../server/api-error.ts'
import { noLane } from '../../server/database/lanes.ts'
import type { Nonce } from '../../server/database/nonces.ts'
import { openStore } from '../../server/open-store.ts'
import { testConfig } from './config.ts'

const fail = (error: unknown) => {
  throw error
}
const store = await openStore(testConfig(process.argv[2] ?? ''), {
  clock: () => new Date(),
  monotonicMs: () => performance.now(),
  random: randomBytes,
  onFatal: fail,
  onEffectError: fail,
})

async function isAccepted(nonce: Nonce): Promise<boolean> {
  try {
    await store.writer.write(noLane, async () => undefined, { nonce })
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'request_replayed') return false
    throw error
  }
}

process.stdout.write('open\n')
const [line] = (await once(createInterface(process.stdin), 'line')) as [string]
const outcomes = await Promise.all((JSON.parse(line) as Nonce[]).map(isAccepted))
process.stdout.write(`${outcomes.filter(Boolean).length}\n`)
await store.close()
