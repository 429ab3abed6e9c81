/**
 * A direct transfer whose other end, or whatever stands between, does not keep to the protocol: nothing of it ever has the
 * name of the file, the token goes nowhere else, and a file that is there stays. Real TLS, on loopback.
 *
 * Spec §4.5, §5 "Transfer helper"; contract §9.
 */
import { execFileSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer as createHttp, type RequestListener, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Server as TcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Bridge, Transfer } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { certificateChain, issue } from '../support/certificates.ts'
import { describeBytes, fileOf } from '../support/files.ts'
import { bridgeOf } from './people.ts'

let node: TestBridge
let ada: Bridge
let ben: Bridge
let folder: string
const bytes = fileOf(30_000)
const partSize = 10_000
const token = 'T'.repeat(43)
const trusted = certificateChain('trusted')

beforeAll(async () => {
  // Of this process alone, which is the recipient's.
  setDefaultCACertificates([trusted.root.cert])
  node = await startBridge()
  ada = bridgeOf(node, node.ada)
  ben = bridgeOf(node, node.ben)
  folder = await mkdtemp(join(tmpdir(), 'bridge-hostile-'))
})

const doors: (Server | TcpServer)[] = []
afterEach(() => {
  for (const door of doors.splice(0)) {
    if ('closeAllConnections' in door) door.closeAllConnections()
    door.close()
  }
})

afterAll(async () => {
  await ada.close()
  await ben.close()
  await node.close()
  await rm(folder, { recursive: true, force: true })
})

async function listening(door: Server | TcpServer): Promise<number> {
  doors.push(door)
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  return (door.address() as AddressInfo).port
}

/** What a home was asked for, with the authority that came along. */
interface Asked {
  readonly path: string
  readonly authorization: string | undefined
}

interface Door {
  readonly asked: Asked[]
  readonly endpoint: string
}

/** A home with this certificate, or without one. */
async function door(
  listener: RequestListener,
  tls: { readonly cert: string; readonly key: string } | null = trusted.server(),
): Promise<Door> {
  const asked: Asked[] = []
  const noting: RequestListener = (request, response) => {
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization })
    listener(request, response)
  }
  const port = await listening(tls ? createHttps(tls, noting) : createHttp(noting))
  return { asked, endpoint: `${tls ? 'https' : 'http'}://localhost:${port}` }
}

/** Whoever connects gets these bytes. */
async function rawDoor(answer: string): Promise<Door> {
  const asked: Asked[] = []
  const door = createTcp((socket) => {
    socket
      .on('error', () => {})
      .on('data', (data) => {
        asked.push({ path: String(data).split(' ')[1] ?? '', authorization: undefined })
        socket.end(answer)
      })
  })
  return { asked, endpoint: `http://127.0.0.1:${await listening(door)}` }
}

async function offered(fields: object = {}): Promise<Transfer> {
  const address = await ada.directory.address('ben')
  const described = describeBytes(bytes, partSize)
  const input = { ...address, filename: 'report.pdf', ...described, encryption: 'none', ...fields } as const
  return ada.transfers.offer({ ...input, mode: 'direct' })
}

const deposit = (id: string, endpoint: string) =>
  ada.transfers.deposit(id, {
    endpoint,
    token,
    expires_at: new Date(node.clock().getTime() + 600_000).toISOString(),
    helper_mode: 'download',
  })

let boxes = 0
async function box(): Promise<string> {
  boxes += 1
  const path = join(folder, `box-${boxes}`)
  await mkdir(path)
  return path
}
const visible = async (path: string) => (await readdir(path)).filter((name) => !name.startsWith('.'))

const status = JSON.stringify({ committed_parts: [], verified: true })
const partOf = (url = '') => {
  const index = Number(/^\/v1\/parts\/(\d+)$/.exec(url)?.[1])
  return bytes.subarray(index * partSize, (index + 1) * partSize)
}

/** As a helper answers; `instead` may answer in its place, and then says so. */
const home =
  (instead: (url: string, ...rest: Parameters<RequestListener>) => boolean = () => false): RequestListener =>
  (request, response) => {
    const { url = '' } = request
    if (instead(url, request, response)) return
    if (url === '/v1/status') response.end(status)
    else response.setHeader('content-length', partSize).end(partOf(url))
  }

const receipts = async (id: string): Promise<string[]> => {
  const { audit } = await node.owner.ok<{ audit: { kind: string }[] }>({
    target: `/api/admin/projects/${node.project.id}/audit?subject_id=${id}&limit=100`,
  })
  return audit.map(({ kind }) => kind).filter((kind) => /receipt|verified/.test(kind))
}

test('a file arrives through a tunnel whose certificate is good', async () => {
  const { id } = await offered()
  const { endpoint, asked } = await door(home())
  await deposit(id, endpoint)
  const into = await box()
  const { transfer } = await ben.transfers.receive(id, join(into, 'report.pdf'))
  expect(transfer.state).toBe('verified')
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${token}`]))
})

const untrusted = certificateChain('untrusted')
const dayMs = 86_400_000
const part1 = '/v1/parts/1'

/** What ends the command; what it tells the service, if anything. */
describe.each<[string, string, () => Promise<Door>, told?: 'receipt']>([
  [
    'has a certificate of nobody that is trusted',
    'certificate_refused',
    () => door(home(), untrusted.server()),
  ],
  [
    'has a certificate that it signed itself',
    'certificate_refused',
    () => door(home(), issue({ name: 'localhost', hosts: ['localhost'] })),
  ],
  [
    'has a certificate for another name',
    'certificate_refused',
    () => door(home(), trusted.server({ hosts: ['other.test'] })),
  ],
  [
    'has a certificate that has expired',
    'certificate_refused',
    () => door(home(), trusted.server({ until: new Date(Date.now() - dayMs) })),
  ],
  [
    'has a certificate that is not valid yet',
    'certificate_refused',
    () => door(home(), trusted.server({ from: new Date(Date.now() + dayMs) })),
  ],
  [
    'speaks no TLS',
    'bad_response',
    async () => {
      const { asked, endpoint } = await door(home(), null)
      return { asked, endpoint: endpoint.replace('http:', 'https:') }
    },
  ],
  ['answers in no protocol', 'bad_response', () => rawDoor('SSH-2.0-OpenSSH_9\r\n')],
  ['answers with headers that are none', 'bad_response', () => rawDoor('HTTP/1.1 200 OK\r\na b\0c\r\n\r\n')],
  [
    'answers with more headers than there may be',
    'bad_response',
    () => rawDoor(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(40_000)}\r\n`),
  ],
  [
    'answers with two lengths',
    'bad_response',
    () => rawDoor('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}   '),
  ],
  [
    'answers with a page',
    'bad_response',
    () => door((_, response) => void response.end('<html>Sign in</html>')),
  ],
  [
    'answers without end',
    'bad_response',
    () => door((_, response) => void response.end('x'.repeat(300_000))),
  ],
  ['answers with a list', 'bad_response', () => door((_, response) => void response.end('[]'))],
  ['knows nothing', 'bad_response', () => door((_, response) => void response.writeHead(404).end('no'))],
  [
    'redirects',
    'redirected',
    () => door((_, response) => void response.writeHead(307, { location: elsewhere.endpoint }).end()),
  ],
  [
    'redirects inside the file',
    'redirected',
    () =>
      door(
        home((url, _, response) => {
          if (url === part1) response.writeHead(302, { location: elsewhere.endpoint }).end()
          return url === part1
        }),
      ),
  ],
  [
    'has another file',
    'integrity',
    () =>
      door(
        (_, response) => void response.end(JSON.stringify({ ...JSON.parse(status), sha256: 'a'.repeat(64) })),
      ),
    'receipt',
  ],
  [
    'changes a byte',
    'integrity',
    () =>
      door(
        home((url, _, response) => {
          const changed = Buffer.from(partOf(url))
          changed[9999] = 0
          if (url === part1) response.setHeader('content-length', partSize).end(changed)
          return url === part1
        }),
      ),
    'receipt',
  ],
  [
    'gives one part for another',
    'integrity',
    () =>
      door(
        home((url, _, response) => {
          if (url === part1) response.setHeader('content-length', partSize).end(partOf('/v1/parts/0'))
          return url === part1
        }),
      ),
    'receipt',
  ],
  [
    'names another hash',
    'integrity',
    () =>
      door(
        home((url, _, response) => {
          response.setHeader('x-content-sha256', 'a'.repeat(64))
          return url === '/never'
        }),
      ),
    'receipt',
  ],
  ...(
    [
      ['claims a longer part', { 'content-length': partSize + 1 }],
      ['claims a shorter part', { 'content-length': partSize - 1 }],
      ['claims no length that is one', { 'content-length': 2 ** 52 }],
    ] as const
  ).map(([what, headers]): [string, string, () => Promise<Door>, 'receipt'] => [
    what,
    'integrity',
    () =>
      door(
        home((url, _, response) => {
          if (url === part1) response.writeHead(200, headers).write(partOf(url).subarray(0, 10))
          return url === part1
        }),
      ),
    'receipt',
  ]),
  [
    'gives more than the part, and says nothing of its length',
    'integrity',
    () =>
      door(
        home((url, _, response) => {
          if (url === part1) response.write(partOf(url), () => response.end('more'))
          return url === part1
        }),
      ),
    'receipt',
  ],
  [
    'gives less than the part, and ends well',
    'integrity',
    () =>
      door(
        home((url, _, response) => {
          if (url === part1) response.write(partOf(url).subarray(1), () => response.end())
          return url === part1
        }),
      ),
    'receipt',
  ],
])('a home that %s', (_, code, open, told) => {
  test(`ends in ${code}, and nothing has the name`, async () => {
    const { id } = await offered()
    const { endpoint, asked } = await open()
    await deposit(id, endpoint)
    const into = await box()
    const refused = await ben.transfers
      .receive(id, join(into, 'report.pdf'), { allowPlainHttp: true })
      .catch((error: Error & { code?: string }) => error)
    expect(refused).toMatchObject({ code })
    expect(`${(refused as Error).stack}`).not.toContain(token)
    expect(await visible(into)).toEqual([])
    expect(await ada.transfers.get(id)).toMatchObject({ state: 'accepted', receipt: null })
    expect(await receipts(id)).toEqual(told === undefined ? [] : ['transfer.receipt_refused'])
    if (code === 'certificate_refused') expect(asked).toEqual([])
    expect(elsewhere.asked).toEqual([])
  })
})

/** Where redirects lead. */
let elsewhere: Door
beforeAll(async () => {
  const asked: Asked[] = []
  const server = createHttp((request, response) => {
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization })
    response.end(status)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  elsewhere = { asked, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  return () => {
    server.closeAllConnections()
    server.close()
  }
})

test('a tunnel that cuts a part off is left for the next one, also when the token stays, and the parts stay', async () => {
  const { id } = await offered()
  const next = await door(home())
  const cutting = await door(
    home((url, _, response) => {
      if (url !== part1) return false
      response.writeHead(200, { 'content-length': partSize }).write(partOf(url).subarray(0, 5000))
      void deposit(id, next.endpoint).then(() => response.destroy())
      return true
    }),
  )
  await deposit(id, cutting.endpoint)
  const to = join(await box(), 'report.pdf')
  await ben.transfers.receive(id, to)
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(next.asked.map(({ path }) => path)).toEqual(['/v1/status', part1, '/v1/parts/2'])
})

test('a tunnel that says nothing is waited for until the recipient gives up', async () => {
  const { id } = await offered()
  const giveUp = new AbortController()
  const { endpoint } = await door(() => giveUp.abort())
  await deposit(id, endpoint)
  const into = await box()
  const waiting = ben.transfers.receive(id, join(into, 'report.pdf'), { signal: giveUp.signal })
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  expect(await visible(into)).toEqual([])
})

describe('plain http', () => {
  test('is taken where it is allowed, and told', async () => {
    const { id } = await offered()
    const { endpoint } = await door(home(), null)
    await deposit(id, endpoint)
    const to = join(await box(), 'report.pdf')
    const onPlainHttp = vi.fn()
    await expect(ben.transfers.receive(id, to, { onPlainHttp })).rejects.toMatchObject({
      code: 'insecure_url',
    })
    expect(onPlainHttp).not.toHaveBeenCalled()
    await ben.transfers.receive(id, to, { onPlainHttp, allowPlainHttp: true })
    expect(onPlainHttp).toHaveBeenCalledOnce()
  })

  test.each(['http://203.0.113.7:80', 'http://tunnel.example', 'http://[2001:db8::1]', 'ftp://127.0.0.1'])(
    'is not taken to %s, whatever is allowed and whatever the node says',
    async (endpoint) => {
      const { id } = await offered()
      const expires_at = new Date(node.clock().getTime() + 600_000).toISOString()
      vi.spyOn(ben.transfers, 'secret').mockResolvedValue({
        endpoint,
        token,
        expires_at,
        helper_mode: 'download',
      })
      const to = join(await box(), 'report.pdf')
      const given = ben.transfers.receive(id, to, { allowPlainHttp: true })
      await expect(given).rejects.toMatchObject({ code: 'insecure_url' })
    },
  )
})

describe('a destination', () => {
  /** Served well; `before` is called when the second part is asked for. */
  async function served(before: () => Promise<unknown> = async () => {}): Promise<string> {
    const { id } = await offered()
    const { endpoint } = await door(
      home((url, _, response) => {
        if (url !== part1) return false
        response.setHeader('content-length', partSize)
        void before().then(() => response.end(partOf(url)))
        return true
      }),
    )
    await deposit(id, endpoint)
    return id
  }

  test('that appears while the file is fetched stays as it is; --overwrite then fetches nothing', async () => {
    const to = join(await box(), 'report.pdf')
    const id = await served(() => writeFile(to, 'mine'))
    await expect(ben.transfers.receive(id, to)).rejects.toMatchObject({ code: 'destination_exists' })
    expect(await readFile(to, 'utf8')).toBe('mine')
    expect(await ada.transfers.get(id)).toMatchObject({ state: 'accepted', receipt: null })
    const fetched = vi.fn()
    await ben.transfers.receive(id, to, { overwrite: true, onProgress: ({ parts }) => fetched(parts) })
    expect((await readFile(to)).equals(bytes)).toBe(true)
    expect(fetched.mock.calls.every(([parts]) => parts === 3)).toBe(true)
  })

  test.each<[string, (to: string, other: string) => Promise<unknown>]>([
    ['a file', (to) => writeFile(to, 'mine')],
    ['a file of the same length', (to) => writeFile(to, fileOf(30_000, 5))],
    ['a folder', (to) => mkdir(to)],
    ['a link to a file', (to, other) => symlink(other, to)],
    ['a link to nothing', (to) => symlink('nowhere', to)],
    ['a link to itself', (to) => symlink('report.pdf', to)],
    ['a pipe that nobody writes to', async (to) => execFileSync('mkfifo', [to])],
    ['a device', (to) => symlink('/dev/zero', to)],
  ])('that is %s is not overwritten, nor written through', async (_, make) => {
    const into = await box()
    const [to, other] = [join(into, 'report.pdf'), join(into, 'other')]
    await writeFile(other, 'theirs')
    await make(to, other)
    const before = lstatSync(to, { bigint: true })
    const id = await served()
    const refused = await ben.transfers.receive(id, to).catch((error: { code?: string }) => error)
    expect(['destination_exists', 'storage_failed']).toContain((refused as { code?: string }).code)
    const after = lstatSync(to, { bigint: true })
    expect([after.ino, after.mode, after.size]).toEqual([before.ino, before.mode, before.size])
    expect(await visible(into)).toEqual(['other', 'report.pdf'])
    expect(await readFile(other, 'utf8')).toBe('theirs')
  })

  test('that is a link is replaced by --overwrite, and what it leads to stays', async () => {
    const into = await box()
    const [to, other] = [join(into, 'report.pdf'), join(into, 'other')]
    await writeFile(other, 'theirs')
    await symlink(other, to)
    await ben.transfers.receive(await served(), to, { overwrite: true })
    expect(lstatSync(to).isFile()).toBe(true)
    expect((await readFile(to)).equals(bytes)).toBe(true)
    expect(await readFile(other, 'utf8')).toBe('theirs')
  })
})
