/**
 * The helper is killed at each step of an upload, at its system calls, and started again on the remaining
 * files.
 *
 * BRIDGE_KILLS=200 kills at every call of each kind up to that number. Reliability: an answered part is
 * committed, and a file with the final name is complete or does not exist.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Manifest } from '../../sdk/contract/helper/manifest.ts'
import { canTrace } from '../support/strace.ts'
import { exchange, request } from './calls.ts'
import { manifestOf, Place, partOf } from './files.ts'
import { type HelperProcess, spawnHelper } from './helper-process.ts'
import { start } from './test-helper.ts'

const kills = Number(process.env.BRIDGE_KILLS ?? 0)
const bytes = randomBytes(2_500_000)
const manifest = manifestOf(bytes, { mode: 'upload', partSize: 1_200_000 })

/** Each kind of call of an upload, and the call numbers used in a run with few kills. */
const strikes: Readonly<Record<string, readonly number[]>> = {
  'pwrite64,pwritev,pwritev2': [3],
  'fdatasync,fsync': [1, 4],
  'link,linkat': [1],
  'unlink,unlinkat': [1],
  ftruncate: [],
}
const moments = Object.entries(strikes).flatMap(([calls, few]) =>
  (kills > 0 ? Array.from({ length: kills }, (_, index) => index + 1) : few).map((nth) => ({ calls, nth })),
)

async function startTraced(place: Place, calls: string, fault: string): Promise<HelperProcess> {
  const under = ['strace', '-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`]
  return spawnHelper(['--manifest', place.manifest(manifest), '--root', place.root], { under })
}

/**
 * Sends all parts and finalizes until the helper dies; returns the answered parts, and whether finalize was
 * answered.
 */
async function sendAll(
  { readiness, token }: HelperProcess,
  of: Manifest,
): Promise<{ parts: number[]; isVerified: boolean }> {
  const port = readiness?.port ?? 0
  const parts: number[] = []
  for (const { index } of of.parts) {
    const call = request({
      method: 'PUT',
      target: `/v1/parts/${index}`,
      token,
      body: partOf(bytes, of, index),
    })
    if ((await exchange(port, call)).status === 200) parts.push(index)
  }
  const { status } = await exchange(port, request({ method: 'POST', target: '/v1/finalize', token }))
  return { parts, isVerified: status === 200 }
}

/** Starts the helper again on the remaining files, finishes the upload, and returns the faults. */
async function afterwards(
  place: Place,
  answered: { parts: number[]; isVerified: boolean },
): Promise<string[]> {
  const wrong: string[] = []
  const published = place.inRoot('payload.bin')
  if (existsSync(published) && !readFileSync(published).equals(bytes)) wrong.push('a wrong file has the name')
  if (answered.isVerified && !existsSync(published)) wrong.push('a verified file is gone')
  const helper = await start(place, manifest, bytes)
  const { committed_parts } = await helper.status()
  for (const index of answered.parts)
    if (!committed_parts.includes(index)) wrong.push(`part ${index} is lost`)
  for (const { index } of manifest.parts) {
    if (!committed_parts.includes(index) && (await helper.put(index)).status !== 200)
      wrong.push(`part ${index} is refused`)
  }
  if ((await helper.finalize()).status !== 200) wrong.push('finalize is refused')
  if (!readFileSync(published).equals(bytes)) wrong.push('the file is wrong')
  const names = readdirSync(place.root)
  if (names.length !== 1) wrong.push(`the folder holds ${names}`)
  await helper.running.stop()
  return wrong
}

test.skipIf(!canTrace)(
  `a helper killed at ${kills > 0 ? 'every' : moments.length} moments of an upload loses no answered part and publishes no wrong byte`,
  { timeout: 300_000 + moments.length * 5000 },
  async () => {
    const wrong: string[] = []
    const over = new Set<string>()
    let died = 0
    for (const { calls, nth } of moments) {
      if (over.has(calls)) continue
      const place = new Place()
      const helper = await startTraced(place, calls, `signal=SIGKILL:when=${nth}`)
      const answered = await sendAll(helper, manifest)
      // The upload finished without a kill, so this call has no further moments.
      if (answered.isVerified && helper.child.exitCode === null && helper.child.signalCode === null)
        over.add(calls)
      else died += 1
      await helper.kill('SIGTERM')
      for (const each of await afterwards(place, answered)) wrong.push(`${calls} ${nth}: ${each}`)
      place.remove()
    }
    expect(wrong).toEqual([])
    expect(died).toBeGreaterThanOrEqual(kills > 0 ? 10 : moments.length - 1)
  },
)

test.skipIf(!canTrace)('a part whose sync fails is not committed, and can be sent again', async () => {
  const place = new Place()
  const helper = await startTraced(place, 'fdatasync', 'error=EIO:when=1')
  const port = helper.readiness?.port ?? 0
  const call = request({
    method: 'PUT',
    target: '/v1/parts/0',
    token: helper.token,
    body: partOf(bytes, manifest, 0),
  })
  const refused = await exchange(port, call)
  expect([refused.status, refused.error]).toEqual([503, 'storage_failed'])
  const status = await exchange(port, request({ target: '/v1/status', token: helper.token }))
  expect(JSON.parse(status.body.toString())).toMatchObject({ committed_parts: [] })
  const answered = await sendAll(helper, manifest)
  expect(answered).toEqual({ parts: [0, 1, 2], isVerified: true })
  await helper.kill('SIGTERM')
  place.remove()
})
