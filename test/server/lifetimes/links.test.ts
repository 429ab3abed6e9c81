/**
 * Links made on the host while the clock of the node and the host, which are one machine, is set.
 *
 * Contract §5 "Lifetimes", §10 "Sign-in".
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import { initServer } from '../../../server/host/init.ts'
import { openStore } from '../../../server/open-store.ts'
import { makeLinkToken } from '../../../server/owners/links.ts'
import { startServer } from '../../../server/server.ts'
import { type TestClock, testClock } from '../../support/clock.ts'
import { testConfig } from '../../support/config.ts'
import { exchange } from '../../support/http.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'
import { dropDatabase, makeEmptyDatabase } from '../../support/postgres.ts'
import { tamper } from '../../support/tamper.ts'
import { soon } from '../../support/waits.ts'

interface Node {
  readonly data: string
  readonly clock: TestClock
}

/** Makes a link as `bridge server owner-link` and `setup-link` do, on a host with the node's clock. */
async function linkOfHost(kind: 'setup' | 'sign_in', node: Node): Promise<string> {
  // Within one second the node stores that the clock was set.
  const ahead = () =>
    tamper(node.data, (database) =>
      database.prepare('SELECT wall_ms - steady_ms FROM steady_clock').pluck().get(),
    )
  await expect.poll(async () => Math.abs(Number(await ahead())), soon).toBeLessThan(1000)
  return makeLink(kind, node)
}

async function makeLink(kind: 'setup' | 'sign_in', { data, clock }: Node): Promise<string> {
  const fail = (error: unknown) => {
    throw error
  }
  const options = { clock, monotonicMs: clock.elapsedMs, random: randomBytes }
  const { writer, steady, close } = await openStore(testConfig(data), {
    ...options,
    onFatal: fail,
    onEffectError: fail,
  })
  try {
    return await makeLinkToken({ write: writer.write, steady, random: randomBytes }, kind)
  } finally {
    await close()
  }
}

const day = 86_400

test('a link made on the host ends on time, and not early, however the clock is set', async () => {
  const data = await mkdtemp(join(tmpdir(), 'bridge-links-'))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  onTestFinished(() => dropDatabase(data))
  await makeEmptyDatabase(data)
  const settings = {
    port: '0',
    log_level: 'silent',
    reserve_bytes: '0',
    failed_auth_per_minute: '1000',
  }
  const config = testConfig(data, settings)
  await initServer(config)
  const clock = testClock()
  const node = { data, clock }
  const server = await startServer(config, { clock, elapsedMs: clock.elapsedMs, passwordCost: 4 })
  onTestFinished(() => server.stop())
  const follow = async (target: string, body: object) => {
    const headers = [['Origin', server.url] as const, ['Content-Type', 'application/json'] as const]
    return (await exchange(server.url, { method: 'POST', target, headers, body: JSON.stringify(body) }))
      .status
  }
  const uses = {
    setup: (token: string) => follow('/api/admin/setup', { token, name: ownerName, password: ownerPassword }),
    sign_in: (link_token: string) => follow('/api/admin/session', { link_token }),
  }
  const seconds = { setup: limits.setupLinkSeconds, sign_in: limits.ownerLinkSeconds }
  for (const kind of ['setup', 'sign_in'] as const) {
    for (const step of [day, -day]) {
      const late = await linkOfHost(kind, node)
      clock.step(step)
      clock.advance(seconds[kind] + 1)
      expect(await uses[kind](late)).toBe(401)
      clock.step(-step)
      expect(await uses[kind](late)).toBe(401)
    }
    const early = await linkOfHost(kind, node)
    clock.step(day)
    clock.advance(seconds[kind] - 10)
    expect(await uses[kind](early)).toBe(200)
    clock.step(-day)
  }
})
