/**
 * Spends the nonces that it receives, one line at a time: `date nonce nonce …`. Writes the outcome of each.
 */
import { createInterface } from 'node:readline'
import { ApiError } from '../../../../server/api-error.ts'
import { openStore, say } from './store.ts'

const writer = openStore(process.argv[2] ?? '')
say('open')
for await (const line of createInterface({ input: process.stdin })) {
  const [date, ...nonces] = line.split(' ')
  const spend = (nonce: string) =>
    writer
      .write(async () => undefined, { nonce: { credentialId: 'c', nonce, signedAt: Number(date) } })
      .then(() => 'accepted')
      .catch((error: unknown) => (error instanceof ApiError ? error.code : String(error)))
  say((await Promise.all(nonces.map(spend))).join(' '))
}
