/**
 * The plain HTTP check of HAProxy, which speaks HTTP/1.0 without Host: as configured in
 * examples/deploy/haproxy-nodes.cfg it takes a node out while the node is away, and takes it in again once
 * the node is ready. Skipped if HAProxy is missing.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { freePort } from '../support/free-port.ts'
import { Balancer, hasBalancer } from '../support/haproxy.ts'
import { exchange } from '../support/http.ts'

const published = new URL('../../examples/deploy/haproxy-nodes.cfg', import.meta.url)

test('haproxy-nodes.cfg uses the plain check', () => {
  const checks = readFileSync(published, 'utf8').match(/^ *(?:option httpchk|http-check).*$/gm) ?? []
  expect(checks.map((line) => line.trim())).toEqual([
    'option httpchk GET /api/ready',
    'http-check expect status 200',
  ])
})

describe.runIf(hasBalancer)('behind HAProxy', () => {
  let bridge: TestBridge
  let balancer: Balancer

  beforeAll(async () => {
    bridge = await startBridge()
    // Two of the three nodes never run.
    const away = [await freePort(), await freePort()]
    balancer = await Balancer.start(await freePort(), [bridge.server.port, ...away])
  })
  afterAll(async () => {
    await balancer?.close()
    await bridge?.close()
  })

  const status = async () => (await exchange(balancer.url, { method: 'GET', target: '/api/health' })).status

  test('a node that stopped is out until its readiness answers the check', async () => {
    await bridge.server.stop()
    await expect.poll(status).toBe(503)
    bridge = await bridge.restart()
    // HAProxy sends no request to a node that it took out, so only a check takes the node in again.
    await expect.poll(status).toBe(200)
  })
})
