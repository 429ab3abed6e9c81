/** The SDK's client for a helper: both directions, resume, retries, and every fault of the other side. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HelperError, type Manifest, type TransferProgress } from '../../sdk/program.ts'
import { downloadFile } from '../../sdk/transfers/wire/download.ts'
import { helperEndpoint } from '../../sdk/transfers/wire/endpoint.ts'
import { describeFile } from '../../sdk/transfers/wire/manifest.ts'
import { uploadFile } from '../../sdk/transfers/wire/upload.ts'
import { request } from './calls.ts'
import { manifestOf, Place, sha256 } from './files.ts'
import { startWith, type TestHelper } from './test-helper.ts'

const bytes = randomBytes(3_000_000)
const partSize = 1_000_000
let place: Place
let source: string
beforeEach(() => {
  place = new Place()
  source = join(place.folder, 'source.bin')
  writeFileSync(source, bytes)
})
afterEach(() => place.remove())

const homeOf = ({ port, token }: Pick<TestHelper, 'port' | 'token'>) =>
  helperEndpoint({ endpoint: `http://127.0.0.1:${port}`, token })

/** Starts a server that answers as the test requires. */
async function homeThat(
  answer: RequestListener,
): Promise<{ home: ReturnType<typeof helperEndpoint>; server: Server }> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { home: helperEndpoint({ endpoint: `http://127.0.0.1:${port}`, token: 'x'.repeat(43) }), server }
}

const quick = { sleep: async () => {} }

test('a file is described once, in parts of a chosen size', async () => {
  const options = { transferId: 'one', mode: 'upload', filename: 'payload.bin', partSize } as const
  expect(await describeFile(source, options)).toEqual(
    manifestOf(bytes, { mode: 'upload', partSize, transferId: 'one' }),
  )
  const whole = await describeFile(source, { ...options, partSize: undefined })
  expect(whole.parts).toEqual([{ index: 0, offset: 0, size: 3_000_000, sha256: sha256(bytes) }])
  await expect(describeFile(source, { ...options, partSize: 1000 })).rejects.toMatchObject({
    code: 'not_sendable',
  })
  await expect(describeFile(source, { ...options, filename: '../x' })).rejects.toMatchObject({
    code: 'not_sendable',
  })
  await expect(describeFile(place.root, options)).rejects.toMatchObject({ code: 'not_sendable' })
})

describe('upload', () => {
  let helper: TestHelper
  beforeEach(async () => {
    helper = await startWith(bytes, { mode: 'upload', partSize })
  })
  afterEach(() => helper.close())

  test('sends, verifies, publishes, and reports progress', async () => {
    const told: TransferProgress[] = []
    const verified = await uploadFile(homeOf(helper), helper.manifest, source, {
      onProgress: (each) => told.push(each),
    })
    expect(verified).toEqual({ verified: true, size: 3_000_000, sha256: sha256(bytes) })
    expect(readFileSync(helper.place.inRoot('payload.bin')).equals(bytes)).toBe(true)
    expect(told.at(-1)).toEqual({
      phase: 'checking',
      bytes: 3_000_000,
      total: 3_000_000,
      parts: 3,
      totalParts: 3,
      resumedParts: 0,
    })
    for (const [index, { bytes: count }] of told.entries())
      expect(count).toBeGreaterThanOrEqual(told[index - 1]?.bytes ?? 0)
  })

  test('resumes an interrupted transfer, at a fresh endpoint', async () => {
    const abort = new AbortController()
    const broken = uploadFile(homeOf(helper), helper.manifest, source, {
      signal: abort.signal,
      onProgress: ({ parts }) => parts === 1 && abort.abort(),
    })
    await expect(broken).rejects.toMatchObject({ code: 'aborted' })
    helper = await helper.again()
    const told: TransferProgress[] = []
    await uploadFile(homeOf(helper), helper.manifest, source, { onProgress: (each) => told.push(each) })
    expect(told[0]?.resumedParts).toBeGreaterThanOrEqual(1)
    expect(readFileSync(helper.place.inRoot('payload.bin')).equals(bytes)).toBe(true)
    // A third run has nothing left to send.
    expect(await uploadFile(homeOf(helper), helper.manifest, source)).toMatchObject({ verified: true })
  })

  /** Starts another upload that keeps the helper busy. */
  async function otherUpload(): Promise<Socket> {
    const other = connect(helper.port, '127.0.0.1')
    const asked = { method: 'PUT', target: '/v1/parts/0', token: helper.token }
    other.write(request({ ...asked, headers: ['Content-Length: 1000000'] }))
    await once(other, 'connect')
    return other
  }

  test('waits while another file operation runs', async () => {
    const other = await otherUpload()
    const waits: number[] = []
    const sleep = async (ms: number) => {
      waits.push(ms)
      if (waits.length === 3) {
        other.destroy()
        await expect.poll(async () => (await helper.finalize()).error).toBe('parts_missing')
      }
    }
    await uploadFile(homeOf(helper), helper.manifest, source, { sleep })
    expect(waits.slice(0, 3)).toEqual([100, 200, 400])
  })

  test('gives up if the helper would expire before the next attempt', async () => {
    const other = await otherUpload()
    const expiresAt = new Date(1000)
    const failed = uploadFile(homeOf(helper), helper.manifest, source, {
      ...quick,
      expiresAt,
      clock: () => new Date(950),
    })
    await expect(failed).rejects.toMatchObject({ code: 'transfer_expired' })
    other.destroy()
  })

  test('of a changed file is an integrity failure, and nothing is published', async () => {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(1_500_000) ^ 1, 1_500_000)
    writeFileSync(source, changed)
    await expect(uploadFile(homeOf(helper), helper.manifest, source, quick)).rejects.toMatchObject({
      code: 'integrity',
    })
    writeFileSync(source, 'short')
    await expect(uploadFile(homeOf(helper), helper.manifest, source, quick)).rejects.toMatchObject({
      code: 'integrity',
    })
    expect(readdirSync(helper.place.root)).not.toContain('payload.bin')
  })

  test("with a wrong token, or to an existing name, reports the helper's reason", async () => {
    const stranger = homeOf({ port: helper.port, token: 'y'.repeat(43) })
    await expect(uploadFile(stranger, helper.manifest, source, quick)).rejects.toMatchObject({
      code: 'invalid_token',
      status: 401,
    })
    writeFileSync(helper.place.inRoot('payload.bin'), 'mine')
    const refused = uploadFile(homeOf(helper), helper.manifest, source, quick)
    await expect(refused).rejects.toBeInstanceOf(HelperError)
    await expect(refused).rejects.toMatchObject({ code: 'destination_exists' })
  })
})

describe('download', () => {
  let helper: TestHelper
  beforeEach(async () => {
    helper = await startWith(bytes, { mode: 'download', partSize })
  })
  afterEach(() => helper.close())

  test('fetches, verifies and publishes, and the folder contains nothing else', async () => {
    const got = await downloadFile(homeOf(helper), helper.manifest, place.root)
    expect(got).toEqual({ path: place.inRoot('payload.bin'), size: 3_000_000, sha256: sha256(bytes) })
    expect(readFileSync(got.path).equals(bytes)).toBe(true)
    expect(readdirSync(place.root)).toEqual(['payload.bin'])
    // A second run finds and verifies the file without a request.
    const offline = homeOf({ port: 1, token: 'z'.repeat(43) })
    expect(await downloadFile(offline, helper.manifest, place.root)).toEqual(got)
  })

  test('resumes after an interruption', async () => {
    const abort = new AbortController()
    const broken = downloadFile(homeOf(helper), helper.manifest, place.root, {
      signal: abort.signal,
      onProgress: ({ parts }) => parts === 2 && abort.abort(),
    })
    await expect(broken).rejects.toMatchObject({ code: 'aborted' })
    expect(readdirSync(place.root)).not.toContain('payload.bin')
    const told: TransferProgress[] = []
    await downloadFile(homeOf(helper), helper.manifest, place.root, { onProgress: (each) => told.push(each) })
    expect(told[0]).toMatchObject({ resumedParts: 2, bytes: 2_000_000 })
  })

  test('never overwrites', async () => {
    writeFileSync(place.inRoot('payload.bin'), 'mine')
    const failed = downloadFile(homeOf(helper), helper.manifest, place.root)
    await expect(failed).rejects.toMatchObject({ code: 'destination_exists' })
    expect(readFileSync(place.inRoot('payload.bin'), 'utf8')).toBe('mine')
    rmSync(place.inRoot('payload.bin'))
    expect(await downloadFile(homeOf(helper), helper.manifest, place.root)).toMatchObject({ size: 3_000_000 })
  })

  test('into a missing folder is refused before any request', async () => {
    const failed = downloadFile(homeOf(helper), helper.manifest, join(place.folder, 'nothing'))
    await expect(failed).rejects.toMatchObject({ code: 'storage_failed' })
  })
})

describe('a server that violates the protocol', () => {
  const manifest: Manifest = manifestOf(bytes, { mode: 'download', partSize })
  const status = JSON.stringify({ committed_parts: [], verified: false, sha256: manifest.sha256 })
  const serving =
    (part: RequestListener): RequestListener =>
    (asked, response) => {
      if (asked.url === '/v1/status') response.end(status)
      else part(asked, response)
    }

  const wrong: [string, RequestListener, string][] = [
    [
      'other bytes',
      (_asked, response) => response.setHeader('Content-Length', partSize).end(randomBytes(partSize)),
      'integrity',
    ],
    [
      'another length',
      (_asked, response) => response.setHeader('Content-Length', 5).end('12345'),
      'integrity',
    ],
    [
      'another hash',
      (_asked, response) => response.setHeader('X-Content-SHA256', sha256('x')).end(),
      'integrity',
    ],
    [
      'a redirect',
      (_asked, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
      'redirected',
    ],
    ['a page', (_asked, response) => response.writeHead(404).end('<html>'), 'bad_response'],
    ['a gateway error, always', (_asked, response) => response.writeHead(502).end('<html>'), 'unreachable'],
    [
      'half a part, always',
      (_asked, response) => {
        response
          .setHeader('Content-Length', partSize)
          .write(bytes.subarray(0, 5000), () => response.destroy())
      },
      'unreachable',
    ],
  ]

  test.each(wrong)('%s: no file gets the name', async (_name, part, code) => {
    const { home, server } = await homeThat(serving(part))
    await expect(downloadFile(home, manifest, place.root, quick)).rejects.toMatchObject({ code })
    expect(readdirSync(place.root)).not.toContain('payload.bin')
    server.close()
    server.closeAllConnections()
  })

  test('broken connections are opened again', async () => {
    let count = 0
    const { home, server } = await homeThat(
      serving((asked, response) => {
        const part = manifest.parts[Number(asked.url?.split('/').at(-1))]
        const body = bytes.subarray(part?.offset, (part?.offset ?? 0) + partSize)
        count += 1
        if (count % 2 === 1)
          response
            .setHeader('Content-Length', partSize)
            .write(body.subarray(0, 5000), () => response.destroy())
        else response.setHeader('Content-Length', partSize).end(body)
      }),
    )
    expect(await downloadFile(home, manifest, place.root, quick)).toMatchObject({ sha256: sha256(bytes) })
    server.close()
    server.closeAllConnections()
  })

  test('a redirect of an upload is refused, and the token is sent nowhere else', async () => {
    const seen: (string | undefined)[] = []
    const target = createServer((asked, response) => {
      seen.push(asked.headers.authorization)
      response.end(status)
    }).listen(0, '127.0.0.1')
    await once(target, 'listening')
    const { port } = target.address() as AddressInfo
    const { home, server } = await homeThat((_asked, response) =>
      response.writeHead(307, { Location: `http://127.0.0.1:${port}/v1/status` }).end(),
    )
    await expect(uploadFile(home, manifest, source, quick)).rejects.toMatchObject({ code: 'redirected' })
    expect(seen).toEqual([])
    server.close()
    target.close()
  })

  test('a status of another file is an integrity failure', async () => {
    const { home, server } = await homeThat((_asked, response) =>
      response.end(JSON.stringify({ committed_parts: [], verified: false, sha256: sha256('x') })),
    )
    await expect(uploadFile(home, manifest, source, quick)).rejects.toMatchObject({ code: 'integrity' })
    server.close()
  })
})

test('an endpoint is an https origin, or plain http on this machine or on request, and the token is not printed', () => {
  const token = 'secret'.repeat(10)
  const code = (endpoint: string, allowPlainHttp = false): string => {
    try {
      const home = helperEndpoint({ endpoint, token, allowPlainHttp })
      expect(inspect(home, { depth: 9, showHidden: true })).not.toContain(token)
      return 'fine'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  expect(code('https://files.example')).toBe('fine')
  expect(code('http://127.0.0.1:4000')).toBe('fine')
  expect(code('http://10.0.0.7:4000')).toBe('insecure_url')
  expect(code('http://10.0.0.7:4000', true)).toBe('fine')
  for (const endpoint of ['https://a/path', 'https://u:p@a', 'https://a/?q', 'https://a/#f', 'ftp://a', 'a'])
    expect([endpoint, code(endpoint)]).toEqual([endpoint, 'invalid_url'])
})
