/** The requests of one client, so that a stall names the requests that made it. */
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

export class RequestLog {
  readonly #client: string
  readonly #pool: Pool = pooledFetch()
  readonly #sent: Sent[] = []

  constructor(client: string) {
    this.#client = client
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
    return this.#pool.close()
  }
}
