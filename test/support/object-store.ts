/**
 * A strict S3 server in memory, for tests: path style, one bucket. It verifies the signature (version 4), the
 * time, the length and the hash of every request, and refuses what S3 refuses.
 *
 * `faults` makes it slow, cut connections, answer 500 after storing, lose an answer, list late, or serve
 * other bytes.
 */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export const testKeys = { AWS_ACCESS_KEY_ID: 'bridge-test', AWS_SECRET_ACCESS_KEY: 'secret/of+the=test' }
export const testRegion = 'test-region'

/** Faults by the verb of a request. A fault may choose requests by their key. */
export interface Faults {
  /** Called before a request is handled, with its connection. It may wait, or return an answer. */
  before?: (call: Call, socket: Socket) => Promise<Refusal | undefined> | Refusal | undefined
  /** Called with the bytes of a PUT that have arrived. Returns true to cut the connection. */
  cutAfter?: (call: Call, bytes: number) => boolean
  /** Called after a PUT was stored. It may refuse, or lose the answer. */
  afterPut?: (call: Call) => Refusal | 'lost' | undefined
  /** Changes the bytes of a GET. */
  served?: (call: Call, bytes: Buffer) => Buffer
  /** Called for each chunk of a GET. */
  beforeChunk?: (call: Call) => Promise<void>
  /** Whether a listing shows an object. */
  listed?: (key: string) => boolean
}

export interface Call {
  readonly verb: string
  readonly key: string
}

export interface Refusal {
  readonly status: number
  readonly code: string
}

export interface StoredObject {
  bytes: Buffer
  changedAt: Date
}

export interface ObjectStore {
  readonly endpoint: string
  readonly bucket: string
  readonly objects: Map<string, StoredObject>
  /** Requests that were accepted, in order. */
  readonly calls: Call[]
  faults: Faults
  /** Settings of a server whose packages are in this store, below a prefix. */
  settings(prefix?: string): { packages: string; packages_endpoint: string; packages_region: string }
  close(): Promise<void>
}

/** Most keys of a page of a listing, so that tests have several pages. */
const keysPerPage = 3
const chunkBytes = 64 * 1024
const skewMs = 15 * 60_000
const bucket = 'bridge'

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The address of a store, and what it accepts. */
export interface Access {
  readonly host: string
  readonly keys: typeof testKeys
  readonly region: string
}

/** Starts a store. A store that starts again continues with the objects that it had. */
export async function startObjectStore(
  port = 0,
  objects = new Map<string, StoredObject>(),
  access: Access = { host: '127.0.0.1', keys: testKeys, region: testRegion },
): Promise<ObjectStore> {
  const calls: Call[] = []
  const server = createServer((request, response) => {
    request.on('error', () => {})
    void handle(request, response).catch((error: unknown) => {
      if (error instanceof Refused) refuse(response, error)
      else response.destroy()
    })
  })
  // As long as real stores. A node that stood still must not write into a connection that was just closed.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(port, access.host, resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', endpoint)
    requireSigned(request, url, access)
    const [, named, ...path] = url.pathname.split('/').map(decodeURIComponent)
    if (named !== bucket) throw new Refused(404, 'NoSuchBucket')
    const call = { verb: request.method ?? '', key: path.join('/') }
    const refused = await store.faults.before?.(call, request.socket)
    if (refused) {
      // An answer before the end of the body can be lost, because the connection is closed with bytes unread.
      for await (const _ of request as AsyncIterable<Buffer>);
      throw new Refused(refused.status, refused.code)
    }
    calls.push(call)
    if (call.verb === 'PUT') return put(call, request, response)
    if (call.verb === 'GET' && call.key === '') return list(url, response)
    if (call.verb === 'GET' || call.verb === 'HEAD') return get(call, response)
    if (call.verb !== 'DELETE') throw new Refused(405, 'MethodNotAllowed')
    objects.delete(call.key)
    response.writeHead(204).end()
  }

  async function put(call: Call, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const length = request.headers['content-length']
    if (length === undefined) throw new Refused(411, 'MissingContentLength')
    const chunks: Buffer[] = []
    let count = 0
    for await (const chunk of request as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      count += chunk.length
      if (store.faults.cutAfter?.(call, count)) return void request.socket.destroy()
    }
    const bytes = Buffer.concat(chunks)
    if (bytes.length !== Number(length)) throw new Refused(400, 'IncompleteBody')
    if (sha256(bytes) !== request.headers['x-amz-content-sha256'])
      throw new Refused(400, 'XAmzContentSHA256Mismatch')
    objects.set(call.key, { bytes, changedAt: new Date() })
    const refused = store.faults.afterPut?.(call)
    if (refused === 'lost') return void request.socket.destroy()
    if (refused) throw new Refused(refused.status, refused.code)
    response.writeHead(200, { etag: `"${sha256(bytes)}"` }).end()
  }

  async function get(call: Call, response: ServerResponse): Promise<void> {
    const found = objects.get(call.key)
    if (found === undefined) throw new Refused(404, 'NoSuchKey')
    const bytes = store.faults.served?.(call, found.bytes) ?? found.bytes
    response.writeHead(200, {
      'content-length': bytes.length,
      'last-modified': found.changedAt.toUTCString(),
    })
    if (call.verb === 'HEAD') return void response.end()
    response.flushHeaders()
    for (let at = 0; at < bytes.length && !response.destroyed; at += chunkBytes) {
      await store.faults.beforeChunk?.(call)
      const chunk = bytes.subarray(at, at + chunkBytes)
      if (!response.write(chunk)) await drained(response)
    }
    response.end()
  }

  function list(url: URL, response: ServerResponse): void {
    if (url.searchParams.get('list-type') !== '2') throw new Refused(400, 'InvalidArgument')
    const after = Buffer.from(url.searchParams.get('continuation-token') ?? '', 'base64').toString()
    const prefix = url.searchParams.get('prefix') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const shown = keys.filter((key) => store.faults.listed?.(key) ?? true)
    const page = shown.slice(0, keysPerPage)
    const isTruncated = shown.length > page.length
    const token = Buffer.from(page.at(-1) ?? '').toString('base64')
    const entries = page.map((key) => {
      const at = objects.get(key)?.changedAt.toISOString() ?? ''
      return `<Contents><Key>${key}</Key><LastModified>${at}</LastModified></Contents>`
    })
    const next = isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ''
    response.writeHead(200, { 'content-type': 'application/xml' })
    response.end(
      `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}${entries.join('')}</ListBucketResult>`,
    )
  }

  const store: ObjectStore = {
    endpoint,
    bucket,
    objects,
    calls,
    faults: {},
    settings: (prefix = 'some/prefix') => ({
      packages: `s3://${bucket}/${prefix}`,
      packages_endpoint: endpoint,
      packages_region: testRegion,
    }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return store
}

class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

function refuse(response: ServerResponse, { status, code }: Refused): void {
  response.writeHead(status, { 'content-type': 'application/xml', connection: 'close' })
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`)
}

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })

/** Verifies the signature as S3 does: every header of it must be signed that changes the request. */
function requireSigned({ method = '', headers }: IncomingMessage, url: URL, access: Access): void {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/
  const [, key, day = '', region = '', names = '', signature] = form.exec(headers.authorization ?? '') ?? []
  if (key === undefined) throw new Refused(403, 'AccessDenied')
  if (key !== access.keys.AWS_ACCESS_KEY_ID) throw new Refused(403, 'InvalidAccessKeyId')
  if (region !== access.region) throw new Refused(400, 'AuthorizationHeaderMalformed')
  const signed = names.split(';')
  const amazon = Object.keys(headers).filter((name) => name.startsWith('x-amz-'))
  if (!['host', ...amazon].every((name) => signed.includes(name))) throw new Refused(403, 'AccessDenied')
  const at = String(headers['x-amz-date'])
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(at) ?? []
  const time = Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`)
  if (!(Math.abs(Date.now() - time) < skewMs) || !at.startsWith(day))
    throw new Refused(403, 'RequestTimeTooSkewed')
  const hash = String(headers['x-amz-content-sha256'])
  if (!/^[0-9a-f]{64}$/.test(hash)) throw new Refused(400, 'InvalidArgument')
  const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort()
  const path = url.pathname.split('/').map((part) => encoded(decodeURIComponent(part)))
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, path.join('/'), query.join('&'), lines.join(''), names, hash].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n')
  const secret = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(
    hmac,
    `AWS4${access.keys.AWS_SECRET_ACCESS_KEY}`,
  )
  if (hmac(secret, text).toString('hex') !== signature) throw new Refused(403, 'SignatureDoesNotMatch')
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** Holds all requests to delete until the returned function is called, which refuses those that came until then. */
export function holdDeletes(store: ObjectStore): () => void {
  const { promise: isOver, resolve } = Promise.withResolvers<void>()
  let holds = true
  store.faults = {
    before: async ({ verb }) => {
      if (verb !== 'DELETE' || !holds) return undefined
      await isOver
      return { status: 503, code: 'SlowDown' }
    },
  }
  return () => {
    holds = false
    resolve()
  }
}
