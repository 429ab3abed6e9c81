/**
 * The metrics match the requests made, and their port answers nothing but them, to programs on this machine
 * only.
 *
 * Reliability T44.
 */
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMeters } from '../../../server/metrics/registry.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { type Exchange, exchange } from '../../support/http.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { type OpenStream, openEvents, openSocket } from '../../support/streams.ts'
import { openWait, soon, untilListening } from '../../support/waits.ts'

let bridge: TestBridge
let metrics: string

beforeAll(async () => {
  bridge = await startBridge({ settings: { metrics_port: '0' } })
  metrics = bridge.server.metricsUrl ?? ''
})
afterAll(() => bridge?.close())

const ask = (call: Partial<Exchange>, url = metrics) =>
  exchange(new URL(url).origin, { method: 'GET', target: '/metrics', ...call })

async function scrape(): Promise<(series: string) => number> {
  const { text } = await ask({})
  return (series) => {
    const line = text.split('\n').find((each) => each.startsWith(`${series} `))
    return line === undefined ? 0 : Number(line.slice(series.length + 1))
  }
}

const answered = (endpoint: string, status: number) =>
  `bridge_request_duration_seconds_count{endpoint="${endpoint}",status="${status}"}`

test('requests are counted by endpoint and status, and no label is chosen by a client', async () => {
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  const before = await scrape()
  for (const text of ['one', 'two', 'three']) await ada.send(conversation, ben.id, text)
  const refused = await ada.call({ target: '/api/v1/messages', body: { body: 'no recipient' } })
  expect(refused.status).toBe(422)
  await ben.inbox()
  const paths = ['/api/v1/canary-of-a-path', `/api/v1/messages/${crypto.randomUUID()}?canary=of-a-query`]
  for (const target of paths) await ada.call({ target })
  await ada.call({ method: 'DELETE', target: '/api/v1/messages' })

  const after = await scrape()
  const rise = (series: string) => after(series) - before(series)
  expect(rise(answered('messages.send', 200))).toBe(3)
  expect(rise(answered('messages.send', 422))).toBe(1)
  expect(rise(answered('inbox.read', 200))).toBe(1)
  expect(rise(answered('messages.get', 422))).toBe(1)
  expect(rise(answered('none', 404))).toBe(1)
  expect(rise(answered('none', 405))).toBe(1)
  expect((await ask({})).text).not.toMatch(/canary/)
  // Each send, and each write that spends a nonce or records an offer beside it, is in exactly one group.
  const held = rise('bridge_write_group_requests_sum')
  expect(held).toBeGreaterThanOrEqual(6)
  expect(rise('bridge_write_group_requests_count')).toBeLessThanOrEqual(held)
  expect(rise('bridge_commit_duration_seconds_count')).toBe(rise('bridge_write_group_requests_count'))
  expect(rise('bridge_commit_duration_seconds_sum')).toBeGreaterThan(0)
  expect(rise('bridge_write_group_duration_seconds_sum')).toBeGreaterThan(
    rise('bridge_commit_duration_seconds_sum'),
  )
})

test('waits are shown by their transport and disappear when they end; a disconnecting client is counted', async () => {
  const { ben, ada } = bridge
  await ben.inbox()
  const poll = openWait(ada)
  const streams: OpenStream[] = [openEvents(ben), openSocket(ben)]
  try {
    await untilListening(bridge, ada)
    await Promise.all(streams.map(({ opened }) => opened))
    const told = await scrape()
    const waits = (transport: string) => told(`bridge_waits{transport="${transport}"}`)
    expect(['long_poll', 'event_stream', 'socket', 'tasks', 'owner'].map(waits)).toEqual([1, 1, 1, 0, 0])
    expect(told('bridge_sessions{state="active"}')).toBe(2)
    expect(told('bridge_sessions{state="waiting"}')).toBe(2)
    expect(told(answered('streams.socket', 101))).toBe(1)
  } finally {
    for (const stream of streams) stream.close()
    await poll.reset()
  }
  await expect
    .poll(async () => {
      const told = await scrape()
      return [
        told('bridge_waits{transport="long_poll"}') + told('bridge_waits{transport="socket"}'),
        told('bridge_requests_cut_total{endpoint="inbox.read"}'),
      ]
    }, soon)
    .toEqual([0, 1])
})

test('storage, queues, readiness, lag and the build are read at the time of the scrape', async () => {
  const told = await scrape()
  // The files of PostgreSQL belong to its operator.
  for (const kind of ['database', 'wal'])
    expect([kind, told(`bridge_storage_bytes{kind="${kind}"}`) > 4096]).toEqual([kind, !isOnPostgres])
  expect(told('bridge_disk_bytes{kind="size"}')).toBeGreaterThan(told('bridge_disk_bytes{kind="free"}'))
  for (const check of ['auth', 'envelope_key', 'migrations', 'database', 'storage', 'nodes'])
    expect(told(`bridge_ready{check="${check}"}`)).toBe(1)
  const { text } = await ask({})
  for (const queue of ['writes', 'reads', 'verifications'])
    expect(text).toMatch(new RegExp(`^bridge_queue_length\\{queue="${queue}"\\} \\d+$`, 'm'))
  expect(text).toMatch(/^bridge_build_info\{version="\d+\.\d+\.\d+"\} 1$/m)
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m)
})

test('maintenance runs and their removals are counted, and a failed group of writes by its reason', async () => {
  const meters = createMeters()
  const at = new Date('2026-11-21T12:00:00Z')
  const jobs = [{ name: 'messages removed', done: 7 }]
  meters.maintained({ outcome: 'done', at, jobs })
  meters.maintained({ outcome: 'done', at, jobs })
  meters.removed('nonces removed', 5)
  meters.group({ requests: 3, groupMs: 4, commitMs: undefined, failure: 'full' })
  const lines = (await meters.text()).split('\n')
  expect(lines).toContain('bridge_maintenance_runs_total{outcome="done"} 2')
  expect(lines).toContain('bridge_maintenance_rows_total{job="messages_removed"} 14')
  expect(lines).toContain('bridge_maintenance_rows_total{job="nonces_removed"} 5')
  expect(lines).toContain(
    `bridge_maintenance_last_run_timestamp_seconds{outcome="done"} ${at.getTime() / 1000}`,
  )
  expect(lines).toContain('bridge_write_groups_failed_total{reason="full"} 1')
  expect(lines).toContain('bridge_write_group_requests_count 0')
})

test('the page for operators describes every metric of a scrape', async () => {
  const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  const told = [...(await ask({})).text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  expect(told.length).toBeGreaterThan(30)
  expect(told.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

test('metrics that cannot be read are omitted, and the others are reported', async () => {
  const meters = createMeters()
  const fail = () => Promise.reject(new Error('the database does not answer'))
  const reading = () => ({ some: 1 })
  meters.watch({
    version: '1.2.3',
    waits: reading,
    queues: reading,
    sessions: fail,
    storage: fail,
    disk: async () => reading(),
    readiness: async () => ({ database: 0 }),
    peers: () => ({ notified: 1 }),
    notifications: () => ({ sent: 3 }),
  })
  const text = await meters.text()
  expect(text).toContain('bridge_ready{check="database"} 0\n')
  expect(text).toContain('bridge_waits{transport="some"} 1\n')
  expect(text).not.toMatch(/^bridge_(sessions|storage_bytes)\{/m)
})

test.each<[string, Partial<Exchange>, number]>([
  ['the API', { target: '/api/health' }, 404],
  ['a query', { target: '/metrics?x=1' }, 404],
  ['another method', { method: 'POST', body: '{}' }, 405],
  [
    'another host name, which DNS rebinding can give to this address',
    { headers: [['Host', 'evil.example']] },
    403,
  ],
  ['a request of a page', { headers: [['Origin', 'http://127.0.0.1']] }, 403],
  ['a cross-site request of a browser', { headers: [['Sec-Fetch-Site', 'cross-site']] }, 403],
])('the port of the metrics does not answer %s', async (_what, call, status) => {
  const host = call.headers?.some(([name]) => name === 'Host')
    ? []
    : [['Host', new URL(metrics).host] as const]
  const reply = await ask({ ...call, headers: [...host, ...(call.headers ?? [])] })
  expect(reply.status).toBe(status)
  expect(reply.text).not.toContain('bridge_')
})

test('the metrics port listens on loopback only, and the API has no metrics', async ({ skip }) => {
  expect((await ask({}, bridge.url)).status).toBe(404)
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const outer = addresses.find(({ internal, family }) => !internal && family === 'IPv4')
  if (outer === undefined) skip('this machine has no other address')
  const elsewhere = `http://${outer?.address}:${new URL(metrics).port}`
  await expect(ask({}, elsewhere)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('without the setting there is no metrics port', async () => {
  const quiet = await startBridge()
  expect(quiet.server.metricsUrl).toBeUndefined()
  await quiet.close()
})
