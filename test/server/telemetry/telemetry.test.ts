/** Load of hosts: permission to report, the stored samples, and when they are stale. Contract §11. */
import { hostname } from 'node:os'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import type { HostHistory, HostSample, HostSampleList } from '../../../sdk/contract/telemetry.ts'
import { reportHost } from '../../../sdk/index.ts'
import { issueTelemetryToken } from '../../../server/host/init.ts'
import { createHostHistories } from '../../../server/metrics/host-history.ts'
import { testConfig } from '../../support/config.ts'
import { exchange } from '../../support/http.ts'
import { daysAgo, tamper } from '../../support/tamper.ts'
import { storeFiles } from '../../support/test-store.ts'
import { expectRefusal } from '../endpoints/answers.ts'
import { startWorld, type World } from '../endpoints/world.ts'
import { upkeep } from '../maintenance/upkeep.ts'

let world: World
let token: string

beforeAll(async () => {
  world = await startWorld()
  token = await world.telemetryToken()
})
afterAll(() => world.close())

const now = () => world.bridge.clock().toISOString()
const sampleOf = (host: string, fields: object = {}) => ({
  ...{ host, sampled_at: now(), cpu_percent: 12.5, memory_used_bytes: 1024, memory_total_bytes: 4096 },
  ...fields,
})
const report = (sample: ReturnType<typeof sampleOf>) =>
  reportHost({ baseUrl: world.bridge.url, token, sample })
const listed = () => world.owner.ok<HostSampleList>({ target: '/api/admin/telemetry' })
const find = async (host: string): Promise<HostSample | undefined> =>
  (await listed()).hosts.find((each) => each.host === host)

const post = (authorization: readonly string[], body: unknown = sampleOf('desk')) =>
  exchange(world.bridge.url, {
    method: 'POST',
    target: '/api/telemetry/host',
    headers: [
      ['Content-Type', 'application/json'],
      ...authorization.map((value): [string, string] => ['Authorization', value]),
    ],
    body: JSON.stringify(body),
  })

test('the latest sample of each host is stored and shown, ordered by name', async () => {
  await report(sampleOf('b-host', { cpu_percent: 90 }))
  await report(sampleOf('a-host'))
  const second = await report(sampleOf('b-host', { cpu_percent: 20 }))
  expect(second).toMatchObject({ host: 'b-host', cpu_percent: 20, stale: false })
  const early = sampleOf('b-host', { cpu_percent: 50, sampled_at: '2026-01-01T00:00:00.000Z' })
  expect(await report(early)).toEqual(second)
  expect((await find('b-host'))?.cpu_percent).toBe(20)
  const names = (await listed()).hosts.map(({ host }) => host)
  expect(names).toEqual(names.toSorted())
})

test('the node samples its own host', async () => {
  const own = await find(hostname())
  expect(own).toMatchObject({ stale: false })
  expect(own?.memory_used_bytes).toBeLessThanOrEqual(own?.memory_total_bytes ?? 0)
  expect(own?.cpu_percent).toBeGreaterThanOrEqual(0)
  expect(own?.cpu_percent).toBeLessThanOrEqual(100)
})

test('a sample is stale after 90 seconds, and a clock that is ahead makes it no fresher', async () => {
  onTestFinished(world.bridge.clock.hold())
  await report(sampleOf('ahead', { sampled_at: '2040-01-01T00:00:00.000Z' }))
  expect(await find('ahead')).toMatchObject({ stale: false })
  world.bridge.clock.advance(limits.telemetryStaleSeconds - 1)
  expect(await find('ahead')).toMatchObject({ stale: false })
  world.bridge.clock.advance(2)
  expect(await find('ahead')).toMatchObject({ stale: true })
  await report(sampleOf('ahead'))
  expect(await find('ahead')).toMatchObject({ stale: false })
})

test.each([
  ['back', -3600],
  ['forward', 3600],
])('a sample stays fresh and the next one is stored if the clock is set %s', async (_, seconds) => {
  const { clock } = world.bridge
  const host = `set-${seconds}`
  await report(sampleOf(host, { cpu_percent: 1 }))
  clock.step(seconds)
  expect(await find(host)).toMatchObject({ cpu_percent: 1, stale: false })
  clock.advance(60)
  expect(await report(sampleOf(host, { cpu_percent: 2 }))).toMatchObject({ cpu_percent: 2, stale: false })
  clock.advance(60)
  expect(await find(host)).toMatchObject({ cpu_percent: 2, stale: false })
  clock.advance(limits.telemetryStaleSeconds)
  expect(await find(host)).toMatchObject({ cpu_percent: 2, stale: true })
  clock.step(-seconds)
})

test("the node's own sample stays fresh if its clock is set forward", async () => {
  const other = await world.elsewhere()
  const read = () => other.owner.ok<HostSampleList>({ target: '/api/admin/telemetry' })
  expect((await read()).hosts).toMatchObject([{ stale: false }])
  other.bridge.clock.step(1800)
  expect((await read()).hosts).toMatchObject([{ stale: false }])
})

test('samples of a host whose clock was set back are accepted again once its latest one is stale', async () => {
  const earlier = () => new Date(world.bridge.clock().getTime() - 3_600_000).toISOString()
  await report(sampleOf('back', { cpu_percent: 1 }))
  await report(sampleOf('back', { cpu_percent: 2, sampled_at: earlier() }))
  expect(await find('back')).toMatchObject({ cpu_percent: 1, stale: false })
  world.bridge.clock.advance(limits.telemetryStaleSeconds + 1)
  await report(sampleOf('back', { cpu_percent: 3, sampled_at: earlier() }))
  expect(await find('back')).toMatchObject({ cpu_percent: 3, stale: true })
})

describe('the history of a host', () => {
  const read = async (host: string, query = '') => {
    const { minutes } = await world.owner.ok<HostHistory>({
      target: `/api/admin/telemetry/history?host=${host}${query}`,
    })
    return minutes.map(({ cpu_percent }) => cpu_percent)
  }

  test('has the last sample of each minute, oldest first, and leaves silent minutes out', async () => {
    const { clock } = world.bridge
    onTestFinished(clock.hold())
    for (const [seconds, cpu_percent] of [
      [0, 1],
      [61, 2],
      [180, 3],
      [60, 4],
    ] as const) {
      clock.advance(seconds)
      await report(sampleOf('desk-2', { cpu_percent }))
    }
    await report(sampleOf('desk-2', { cpu_percent: 5 }))
    expect(await read('desk-2')).toEqual([1, 2, 3, 5])
    expect(await read('desk-2', '&minutes=2')).toEqual([3, 5])
    const { minutes } = await world.owner.ok<HostHistory>({
      target: '/api/admin/telemetry/history?host=desk-2&minutes=1',
    })
    expect(minutes).toEqual([
      { at: expect.any(String), cpu_percent: 5, memory_used_bytes: 1024, memory_total_bytes: 4096 },
    ])
    expect(Date.parse(minutes[0]?.at ?? '')).toBeLessThanOrEqual(clock().getTime())
  })

  test('is that of the node, also before the first reading of its load', async () => {
    const other = await world.elsewhere()
    const target = `/api/admin/telemetry/history?host=${hostname()}`
    expect((await other.owner.ok<HostHistory>({ target })).minutes).toHaveLength(1)
  })

  test('is refused for an unknown host, an impossible range, and to an administrator', async () => {
    const target = '/api/admin/telemetry/history'
    expectRefusal(await world.owner.call({ target: `${target}?host=nobody` }), 'not_found')
    for (const query of ['', '?host=../etc', '?host=desk-2&minutes=1441', '?host=desk-2&minutes=0'])
      expectRefusal(await world.owner.call({ target: `${target}${query}` }), 'invalid_request')
    const { by } = await (await world.elsewhere()).administrator()
    expectRefusal(await by.call({ target: `${target}?host=desk-2` }), 'not_permitted')
  })

  test('keeps 1440 minutes, and forgets a host that was silent for 24 hours', () => {
    const histories = createHostHistories()
    const sample = (host: string, cpu_percent: number) => ({
      ...{ host, cpu_percent, memory_used_bytes: 1, memory_total_bytes: 2 },
    })
    const minuteMs = 60_000
    for (let minute = 0; minute < 3000; minute += 1)
      histories.add(sample('busy', minute % 100), minute * minuteMs)
    const kept = histories.read('busy', 2999 * minuteMs, 1440) ?? []
    expect(kept.map(({ atMs }) => atMs / minuteMs)).toEqual(Array.from({ length: 1440 }, (_, n) => 1560 + n))
    expect(kept.every(({ atMs, cpu_percent }) => cpu_percent === (atMs / minuteMs) % 100)).toBe(true)
    histories.add(sample('other', 1), (2999 + 1440) * minuteMs)
    expect([histories.size, histories.read('busy', (2999 + 1440) * minuteMs, 1440)]).toEqual([1, undefined])
  })
})

test("only the right token may report: neither no token, another one, two of them, nor the owner's sign-in", async () => {
  const other = 'A'.repeat(43)
  for (const given of [
    [],
    [`Bearer ${other}`],
    [`bearer ${token}`],
    [token],
    [`Bearer ${token}`, `Bearer ${token}`],
  ]) {
    const { status, json } = await post(given)
    expect([status, json]).toMatchObject([401, { error: 'unauthenticated' }])
  }
  expect(await post([`Bearer ${other}`], { host: '' })).toMatchObject({ status: 401 })
  const reply = await world.owner.call({ target: '/api/telemetry/host', body: sampleOf('desk') })
  expect(reply.status).toBe(401)
  expect(await find('desk')).toBeUndefined()
  const asked = await exchange(world.bridge.url, {
    method: 'GET',
    target: '/api/admin/telemetry',
    headers: [['Authorization', `Bearer ${token}`]],
  })
  expect(asked.json).toMatchObject({ error: 'owner_session_expired' })
})

test('failed reports are counted against the address', async () => {
  const other = await world.elsewhere({ settings: { failed_auth_per_minute: '2' } })
  const wrong = () =>
    exchange(other.bridge.url, { method: 'POST', target: '/api/telemetry/host', headers: [], body: '{}' })
  expect([(await wrong()).status, (await wrong()).status, (await wrong()).status]).toEqual([401, 401, 429])
})

test('an impossible sample is refused with its field', async () => {
  for (const [field, value] of [
    ['host', '../etc'],
    ['cpu_percent', 101],
    ['memory_used_bytes', 5000],
    ['memory_total_bytes', 0],
    ['sampled_at', 'now'],
    ['surplus', 1],
  ] as const) {
    const { status, text } = await post([`Bearer ${token}`], sampleOf('desk', { [field]: value }))
    expect(status).toBe(422)
    expect(text).toContain(field)
  }
})

test('a new token invalidates the previous one, only its hash is stored, and its creation is recorded', async () => {
  const other = await world.elsewhere()
  const config = testConfig(other.bridge.data)
  const [first, second] = [await issueTelemetryToken(config), await issueTelemetryToken(config)]
  const { url: baseUrl, data } = other.bridge
  await expect(reportHost({ baseUrl, token: first, sample: sampleOf('desk') })).rejects.toMatchObject({
    code: 'unauthenticated',
    message: expect.not.stringContaining(first),
  })
  await reportHost({ baseUrl, token: second, sample: sampleOf('desk') })
  expect(storeFiles(data).includes(second)).toBe(false)
  const { audit } = await other.owner.ok<{ audit: unknown[] }>({
    target: '/api/admin/audit?kind=telemetry.token_issued',
  })
  expect(audit).toMatchObject([{ actor: { kind: 'system' }, details: {} }, {}])
})

test('a host without reports for a month is forgotten', async () => {
  await report(sampleOf('quiet'))
  const { data } = world.bridge
  tamper(data, (database) =>
    database.prepare("UPDATE telemetry_hosts SET received_at = ? WHERE host = 'quiet'").run(daysAgo(31)),
  )
  expect(await upkeep(data)).toMatchObject({ 'silent hosts removed': 1 })
  expect(await find('quiet')).toBeUndefined()
  expect(await find('a-host')).toBeDefined()
})
