/** The requests of one client, so that a stall names the requests that made it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { pooledFetch } from '../../../../sdk/program.ts'

type Pool = ReturnType<typeof pooledFetch>

interface Sent {
  readonly what: string
  readonly begunMs: number
  endedMs: number
  result: string
}

/** Requests that were answered with 200 in a shorter time explain nothing. */
const slowMs = 100

/** What node:http tells of one request. */
interface Told {
  readonly request: ClientRequest
  readonly response?: IncomingMessage
  readonly error?: Error
}

const ends = ['http.client.response.finish', 'http.client.request.error']

export class RequestLog {
  readonly #client: string
  readonly #pool: Pool = pooledFetch()
  readonly #sent: Sent[] = []
  readonly #credential: string | undefined
  readonly #parts = new WeakMap<ClientRequest, Sent>()

  /** With the id of the client's credential, its requests for packages are seen too. They have their own connections. */
  constructor(client: string, credential?: string) {
    this.#client = client
    this.#credential = credential
    subscribe('http.client.request.created', this.#begun)
    for (const channel of ends) subscribe(channel, this.#ended)
  }

  readonly #begun = (message: unknown): void => {
    const { request } = message as Told
    if (request.getHeader('authorization') !== `AgentKey ${this.#credential}`) return
    const what = `${this.#client} ${request.method} ${request.path}`
    const sent: Sent = { what, begunMs: performance.now(), endedMs: Number.POSITIVE_INFINITY, result: 'open' }
    this.#sent.push(sent)
    this.#parts.set(request, sent)
  }

  readonly #ended = (message: unknown): void => {
    const { request, response, error } = message as Told
    const sent = this.#parts.get(request)
    if (sent?.result !== 'open') return
    Object.assign(sent, { result: String(response?.statusCode ?? error), endedMs: performance.now() })
  }

  /** The time of a request ends with the head of its answer. */
  readonly fetch: Pool['fetch'] = async (url, init) => {
    const what = `${this.#client} ${init.method} ${new URL(url).pathname}`
    const sent: Sent = { what, begunMs: performance.now(), endedMs: Number.POSITIVE_INFINITY, result: 'open' }
    this.#sent.push(sent)
    const ended = (result: string) => Object.assign(sent, { result, endedMs: performance.now() })
    try {
      const response = await this.#pool.fetch(url, init)
      ended(String(response.status))
      return response
    } catch (error) {
      ended(String(error))
      throw error
    }
  }

  /** The slow and the failed requests between two times of `performance.now()`, a line for each. */
  between(fromMs: number, toMs: number): string[] {
    return this.#sent
      .filter(({ begunMs, endedMs }) => endedMs >= fromMs && begunMs <= toMs)
      .filter(({ begunMs, endedMs, result }) => result !== '200' || endedMs - begunMs >= slowMs)
      .map(({ what, begunMs, endedMs, result }) => {
        const took = endedMs < Number.POSITIVE_INFINITY ? `${Math.round(endedMs - begunMs)} ms` : 'no time'
        return `  +${Math.round(begunMs - fromMs)} ms ${what}: ${result} in ${took}`
      })
  }

  close(): Promise<void> {
    unsubscribe('http.client.request.created', this.#begun)
    for (const channel of ends) unsubscribe(channel, this.#ended)
    return this.#pool.close()
  }
}
