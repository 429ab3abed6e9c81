/** `bridge mcp` on the wire: both eras, refusals, bounds and the end. None of these needs a node. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lineBytes } from '../../../cli/mcp/protocol/lines.ts'
import { Desk } from '../../support/desk.ts'
import { TestHome } from '../../support/test-home.ts'
import { McpSession, modern, type Response } from './mcp-session.ts'

let desk: Desk
const open: McpSession[] = []
const session = () => {
  const made = new McpSession(desk, 'nobody')
  open.push(made)
  return made
}

beforeAll(async () => {
  desk = await Desk.make()
})
afterAll(async () => {
  for (const each of open) expect(await each.close()).toBe(0)
  await desk.remove()
})

const initialize = (protocolVersion: unknown, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

describe('initialize', () => {
  test.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2024-11-05', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
  ])('a client that asks for %s gets %s', async (asked, got) => {
    const mcp = session()
    mcp.write(initialize(asked))
    const { result } = await mcp.line(({ id }) => id === 1)
    expect(result).toMatchObject({ protocolVersion: got, capabilities: { tools: {} } })
    expect(String(result?.instructions).length).toBeLessThanOrEqual(400)
    mcp.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
    mcp.write({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
    const listed = await mcp.line(({ id }) => id === 2)
    expect(Object.keys(listed.result ?? {})).toEqual(['tools'])
    mcp.write({ jsonrpc: '2.0', id: 3, method: 'ping' })
    expect(await mcp.line(({ id }) => id === 3)).toEqual({ jsonrpc: '2.0', id: 3, result: {} })
  })

  test('without a version it is refused, and the requests of a legacy client stay refused', async () => {
    const mcp = session()
    mcp.write(initialize(undefined))
    expect(await mcp.line(({ id }) => id === 1)).toMatchObject({ error: { code: -32602 } })
    mcp.write({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
    expect(await mcp.line(({ id }) => id === 2)).toMatchObject({ error: { code: -32602 } })
  })
})

describe('the revision 2026-07-28', () => {
  const info = { 'io.modelcontextprotocol/serverInfo': { name: 'agent-bridge' } }

  test('server/discover names the version, the capabilities and the server', async () => {
    const { result } = await session().request('server/discover')
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      cacheScope: 'public',
      _meta: info,
    })
    expect(Number(result?.ttlMs)).toBeGreaterThan(0)
  })

  test('every request works without an earlier one, and each result names the server', async () => {
    const listed = await session().request('tools/list')
    expect(listed.result).toMatchObject({ resultType: 'complete', cacheScope: 'public', _meta: info })
    const called = await session().request('tools/call', { name: 'inbox' })
    expect(called.result).toMatchObject({ resultType: 'complete', isError: true, _meta: info })
  })

  test('all definitions fit in 4,096 bytes', async () => {
    const listed = await session().request('tools/list')
    expect(Buffer.byteLength(JSON.stringify(listed))).toBeLessThanOrEqual(4096)
    const { tools } = listed.result as { tools: { name: string; annotations: object }[] }
    expect(tools).toHaveLength(8)
    for (const { annotations } of tools) expect(annotations).toMatchObject({ openWorldHint: true })
  })

  const version = 'io.modelcontextprotocol/protocolVersion'
  const capabilities = 'io.modelcontextprotocol/clientCapabilities'
  test.each([
    ['no _meta', {}, -32602, undefined],
    ['no capabilities', { [version]: '2026-07-28' }, -32602, undefined],
    ['no version', { [capabilities]: {} }, -32602, undefined],
    ['a version that is no text', { [version]: 7, [capabilities]: {} }, -32602, undefined],
    ['capabilities that are no object', { [version]: '2026-07-28', [capabilities]: [] }, -32602, undefined],
    [
      'another version',
      { [version]: '1900-01-01', [capabilities]: {} },
      -32022,
      { supported: ['2026-07-28'], requested: '1900-01-01' },
    ],
    [
      'a legacy version',
      { [version]: '2025-11-25', [capabilities]: {} },
      -32022,
      { supported: ['2026-07-28'], requested: '2025-11-25' },
    ],
  ])('a request with %s is refused, also after initialize', async (_, meta, code, data) => {
    const mcp = session()
    expect((await mcp.request('tools/list', { _meta: meta })).error).toMatchObject({ code })
    mcp.write(initialize('2025-11-25'))
    const { error } = await mcp.request('server/discover', { _meta: meta })
    expect(error).toMatchObject({ code, ...(data && { data }) })
  })

  test('ping was removed', async () => {
    expect((await session().request('ping')).error).toMatchObject({ code: -32601 })
  })

  test('a subscription is acknowledged without any notification, and ends when it is cancelled', async () => {
    const mcp = session()
    const params = { _meta: modern, notifications: { toolsListChanged: true } }
    mcp.write({ jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen', params })
    expect(await mcp.line(({ method }) => method !== undefined)).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' }, notifications: {} },
    })
    mcp.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } })
    await mcp.request('server/discover')
    expect(mcp.lines).toHaveLength(2)
    expect(await mcp.request('subscriptions/listen')).toMatchObject({ error: { code: -32602 } })
  })

  test('an open subscription gets its result when the client closes standard input', async () => {
    const mcp = session()
    mcp.write({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: { _meta: modern, notifications: {} },
    })
    await mcp.line(({ method }) => method !== undefined)
    await mcp.close()
    expect(mcp.lines.at(-1)).toMatchObject({
      id: 'sub',
      result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } },
    })
  })
})

describe('refusals', () => {
  const call = (params: object) => ({
    jsonrpc: '2.0',
    id: 9,
    method: 'tools/call',
    params: { _meta: modern, ...params },
  })
  test.each<[string, object | string, number, number | undefined]>([
    ['a line that is not JSON', '{"jsonrpc":', -32700, undefined],
    ['a batch', '[{"jsonrpc":"2.0","id":9,"method":"ping"}]', -32600, undefined],
    ['null', 'null', -32600, undefined],
    ['another version of JSON-RPC', { jsonrpc: '1.0', id: 9, method: 'ping' }, -32600, 9],
    ['no method', { jsonrpc: '2.0', id: 9 }, -32600, 9],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }, -32600, undefined],
    ['an id that is a fraction', { jsonrpc: '2.0', id: 1.5, method: 'ping' }, -32600, undefined],
    ['params that are a list', { jsonrpc: '2.0', id: 9, method: 'ping', params: [1] }, -32602, 9],
    [
      'an unknown method',
      { jsonrpc: '2.0', id: 9, method: 'resources/list', params: { _meta: modern } },
      -32601,
      9,
    ],
    [
      'a name of an object',
      { jsonrpc: '2.0', id: 9, method: 'constructor', params: { _meta: modern } },
      -32601,
      9,
    ],
    ['an unknown tool', call({ name: 'rm' }), -32602, 9],
    ['a tool without a name', call({}), -32602, 9],
    ['a tool whose name has no text', call({ name: { toString: 1 } }), -32602, 9],
    ['a tool whose name is in a list', call({ name: ['inbox'] }), -32602, 9],
    ['arguments that are a list', call({ name: 'inbox', arguments: [1] }), -32602, 9],
    [
      'a cursor',
      { jsonrpc: '2.0', id: 9, method: 'tools/list', params: { _meta: modern, cursor: 'x' } },
      -32602,
      9,
    ],
  ])('%s', async (_, message, code, id) => {
    const mcp = session()
    mcp.write(message)
    const refused = await mcp.line(({ error }) => error !== undefined)
    expect(refused).toMatchObject({ jsonrpc: '2.0', error: { code } })
    expect(refused.id).toBe(id)
    expect((await mcp.request('server/discover')).result).toBeDefined()
  })

  test('notifications, responses and blank lines get no answer', async () => {
    const mcp = session()
    for (const quiet of [
      '',
      ' ',
      { jsonrpc: '2.0', method: 'notifications/unknown' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: {} } },
      { jsonrpc: '2.0', id: 4, result: {} },
    ])
      mcp.write(quiet)
    await mcp.request('server/discover')
    expect(mcp.lines).toHaveLength(1)
  })

  test('a line that is too long is skipped, and the next one is answered', async () => {
    const mcp = session()
    const half = 'x'.repeat(lineBytes / 2)
    for (const part of [half, half, half, '\n']) mcp.stdin.write(part)
    expect(await mcp.line(({ error }) => error !== undefined)).toMatchObject({ error: { code: -32600 } })
    expect((await mcp.request('server/discover')).result).toBeDefined()
    const longest = `${' '.repeat(lineBytes - 60)}{"jsonrpc":"2.0","id":7,"method":"ping"}`
    mcp.write(longest)
    expect(await mcp.line(({ id }) => id === 7)).toMatchObject({ result: {} })
  })

  test('bytes that are not UTF-8 are refused', async () => {
    const mcp = session()
    mcp.stdin.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]))
    expect(await mcp.line(({ error }) => error !== undefined)).toMatchObject({ error: { code: -32700 } })
  })

  test('characters that arrive in two pieces are read, with any line end', async () => {
    const mcp = session()
    const line = Buffer.from('{"jsonrpc":"2.0","id":"ü","method":"ping"}\r\n')
    mcp.stdin.write(line.subarray(0, 22))
    mcp.stdin.write(line.subarray(22))
    expect(await mcp.line(({ id }) => id === 'ü')).toMatchObject({ result: {} })
  })
})

describe('as a process', () => {
  const request = `${JSON.stringify(initialize('2025-06-18'))}\n`

  test('it ends within 500 ms when its standard input closes, and has printed JSON-RPC only', async () => {
    const home = TestHome.at(desk.folder)
    const endedAfterMs = async () => {
      const started = home.start(['mcp', '--profile', 'nobody'])
      started.child.stdin.write(request)
      await started.printed(/\n/)
      const since = performance.now()
      started.child.stdin.end()
      const { code, stdout, stderr } = await started.ended
      const tookMs = performance.now() - since
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      for (const line of stdout.trimEnd().split('\n'))
        expect((JSON.parse(line) as Response).jsonrpc).toBe('2.0')
      return tookMs
    }
    // On a busy machine the process may stand still meanwhile, and then the test runs it again.
    await expect.poll(endedAfterMs).toBeLessThan(500)
  })

  test('SIGTERM ends it', async () => {
    const started = TestHome.at(desk.folder).start(['mcp', '--profile', 'nobody'])
    started.child.stdin.write(request)
    await started.printed(/\n/)
    started.child.kill('SIGTERM')
    expect(await started.ended).toMatchObject({ code: 0, stderr: '' })
  })
})
