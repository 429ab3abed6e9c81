/**
 * Sources of a file for tests of its recipient: one that answers like a helper, and several that violate the
 * protocol.
 *
 * The file is always the same, in three parts. The connections use real TLS on loopback; each test closes the
 * servers that it opens.
 */
import { createServer as createHttp, type RequestListener, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Server as TcpServer } from 'node:net'
import { certificateChain, issue } from '../support/certificates.ts'
import { fileOf } from '../support/files.ts'

export const bytes = fileOf(30_000)
export const partSize = 10_000
export const trusted = await certificateChain('trusted')

const doors: (Server | TcpServer)[] = []
export function closeDoors(): void {
  for (const door of doors.splice(0)) {
    if ('closeAllConnections' in door) door.closeAllConnections()
    door.close()
  }
}

async function listening(door: Server | TcpServer): Promise<number> {
  doors.push(door)
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  return (door.address() as AddressInfo).port
}

/** A request to a source, with the Authorization header that came with it. */
export interface Asked {
  readonly path: string
  readonly authorization: string | undefined
}

export interface Door {
  readonly asked: Asked[]
  readonly endpoint: string
}

/** Starts a source with this certificate (by default a trusted one), or without TLS. */
export async function door(
  listener: RequestListener,
  tls?: { readonly cert: string; readonly key: string } | null,
): Promise<Door> {
  const asked: Asked[] = []
  const noting: RequestListener = (request, response) => {
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization })
    listener(request, response)
  }
  const secure = tls === undefined ? await trusted.server() : tls
  const port = await listening(secure ? createHttps(secure, noting) : createHttp(noting))
  return { asked, endpoint: `${secure ? 'https' : 'http'}://localhost:${port}` }
}

/** Starts a source that sends these bytes to every connection. */
export async function rawDoor(answer: string): Promise<Door> {
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

const status = JSON.stringify({ committed_parts: [], verified: true })
export const partOf = (url = '') => {
  const index = Number(/^\/v1\/parts\/(\d+)$/.exec(url)?.[1])
  return bytes.subarray(index * partSize, (index + 1) * partSize)
}

/** Answers like a helper. `instead` may answer in its place and then returns true. */
export const home =
  (instead: (url: string, ...rest: Parameters<RequestListener>) => boolean = () => false): RequestListener =>
  (request, response) => {
    const { url = '' } = request
    if (instead(url, request, response)) return
    if (url === '/v1/status') response.end(status)
    else response.setHeader('content-length', partSize).end(partOf(url))
  }

const untrusted = await certificateChain('untrusted')
const dayMs = 86_400_000
export const part1 = '/v1/parts/1'

type Open = (elsewhere: string) => Promise<Door>

/**
 * The violation, the resulting error, the function that starts the source, and whether the service gets a
 * receipt.
 */
export type HostileHome = [string, string, Open, told?: 'receipt']

export const hostileHomes: readonly HostileHome[] = [
  [
    'has a certificate of an untrusted authority',
    'certificate_refused',
    async () => door(home(), await untrusted.server()),
  ],
  [
    'has a self-signed certificate',
    'certificate_refused',
    async () => door(home(), await issue({ name: 'localhost', hosts: ['localhost'] })),
  ],
  [
    'has a certificate for another name',
    'certificate_refused',
    async () => door(home(), await trusted.server({ hosts: ['other.test'] })),
  ],
  [
    'has a certificate that has expired',
    'certificate_refused',
    async () => door(home(), await trusted.server({ until: new Date(Date.now() - dayMs) })),
  ],
  [
    'has a certificate that is not valid yet',
    'certificate_refused',
    async () => door(home(), await trusted.server({ from: new Date(Date.now() + dayMs) })),
  ],
  [
    'does not use TLS',
    'bad_response',
    async () => {
      const { asked, endpoint } = await door(home(), null)
      return { asked, endpoint: endpoint.replace('http:', 'https:') }
    },
  ],
  ['answers in no protocol', 'bad_response', () => rawDoor('SSH-2.0-OpenSSH_9\r\n')],
  ['answers with headers that are none', 'bad_response', () => rawDoor('HTTP/1.1 200 OK\r\na b\0c\r\n\r\n')],
  [
    'answers with too many headers',
    'bad_response',
    () => rawDoor(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(40_000)}\r\n`),
  ],
  [
    'answers with two lengths',
    'bad_response',
    () => rawDoor('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}   '),
  ],
  [
    'answers with an HTML page',
    'bad_response',
    () => door((_, response) => void response.end('<html>Sign in</html>')),
  ],
  ['answers endlessly', 'bad_response', () => door((_, response) => void response.end('x'.repeat(300_000)))],
  ['answers with a list', 'bad_response', () => door((_, response) => void response.end('[]'))],
  ['knows nothing', 'bad_response', () => door((_, response) => void response.writeHead(404).end('no'))],
  [
    'redirects',
    'redirected',
    (elsewhere) => door((_, response) => void response.writeHead(307, { location: elsewhere }).end()),
  ],
  [
    'redirects inside the file',
    'redirected',
    (elsewhere) =>
      door(
        home((url, _, response) => {
          if (url === part1) response.writeHead(302, { location: elsewhere }).end()
          return url === part1
        }),
      ),
  ],
  [
    'serves another file',
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
    'sends another part',
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
    'states another hash',
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
      ['claims an impossible length', { 'content-length': 2 ** 52 }],
    ] as const
  ).map(
    ([what, headers]): HostileHome => [
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
    ],
  ),
  [
    'sends more than the part without a length',
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
    'sends less than the part and ends normally',
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
]
