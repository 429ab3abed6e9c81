/**
 * Requests to an S3-compatible object store, signed with signature version 4.
 *
 * A request is sent once: the caller repeats it, or the upkeep does. Redirects are refusals.
 */
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher, request } from 'undici'
import { emptySha256 } from '../../../sdk/contract/helper/manifest.ts'
import type { ObjectPlace } from '../../packages-place.ts'
import { StoreRefusal } from './failure.ts'
import { codeOf, type Listed, listedIn } from './xml.ts'

export interface Put {
  /** SHA-256 of the bytes, which the store verifies too. */
  readonly sha256: string
  readonly size: number
  readonly body: Dispatcher.DispatchOptions['body']
  readonly signal?: AbortSignal | undefined
}

export interface ObjectPage extends Listed {
  /** Time of the answer by the store's clock, in milliseconds. */
  readonly at: number
}

export interface ObjectClient {
  /** @throws StoreRefusal; errors of the connection */
  put(key: string, put: Put): Promise<void>
  /** Returns the bytes as they arrive. @throws StoreRefusal; errors of the connection */
  get(key: string, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>
  /** A missing object is no error. @throws StoreRefusal; errors of the connection */
  remove(key: string): Promise<void>
  /** Lists keys under a prefix, page after page. @throws StoreRefusal; errors of the connection */
  list(under: string): AsyncGenerator<ObjectPage>
  close(): Promise<void>
}

/** Time for a connection, and for the answer to a request that was sent. */
const connectMs = 5000
const answerMs = 30_000
/**
 * Most connections to the store for each purpose. Bytes of parts move at the pace of agents, so they may take no
 * connection of the others. Removals that stall may not hide that the store answers.
 */
export const connectionsFor = { moves: 64, removals: 8, looks: 2 } as const

interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly sha256?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Put['body']
  readonly signal?: AbortSignal | undefined
}

export function createObjectClient(place: ObjectPlace, connections: number): ObjectClient {
  const { region } = place
  const dispatcher = new Agent({ connections, connect: { timeout: connectMs }, headersTimeout: answerMs })
  const cache = new Map<string, ArrayBuffer>()

  async function send({ method, key = '', query = {}, sha256 = emptySha256, ...given }: Call) {
    const url = new URL(`${place.base}${key}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const { keyId, secret, session } = place.credentials()
    const headers = { 'x-amz-content-sha256': sha256 }
    const signer = new AwsV4Signer({
      ...{ method, url: url.href, headers, region, service: 's3', cache },
      ...{ accessKeyId: keyId, secretAccessKey: secret },
      ...(session !== undefined && { sessionToken: session }),
    })
    const signed = await signer.sign()
    const answer = await request(signed.url, {
      dispatcher,
      method,
      headers: { ...Object.fromEntries(signed.headers), ...given.headers },
      ...(given.body !== undefined && { body: given.body }),
      ...(given.signal && { signal: given.signal }),
    })
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
    throw await refusalOf(answer)
  }

  return {
    async put(key, { sha256, size, body, signal }) {
      const headers = { 'content-length': String(size), 'content-type': 'application/octet-stream' }
      const answer = await send({ method: 'PUT', key, sha256, headers, body, signal })
      await answer.body.dump()
    },
    get: async (key, signal) => (await send({ method: 'GET', key, signal })).body,
    async remove(key) {
      try {
        await (await send({ method: 'DELETE', key })).body.dump()
      } catch (error) {
        if (!(error instanceof StoreRefusal && error.code === 'NoSuchKey')) throw error
      }
    },
    async *list(under) {
      let next: string | undefined
      do {
        const more = next === undefined ? {} : { 'continuation-token': next }
        const answer = await send({ method: 'GET', query: { 'list-type': '2', prefix: under, ...more } })
        const page = listedIn(await answer.body.text())
        next = page.next
        yield { ...page, at: Date.parse(String(answer.headers.date)) }
      } while (next !== undefined)
    },
    close: () => dispatcher.destroy(),
  }
}

async function refusalOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<StoreRefusal> {
  const text = await body.text().catch(() => '')
  const region = headers['x-amz-bucket-region']
  return new StoreRefusal(statusCode, codeOf(text), region === undefined ? '' : `(region ${String(region)})`)
}
