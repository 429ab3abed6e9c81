/**
 * The part of `fetch` that the SDK uses, and the default: undici's own, on a pool of its own.
 *
 * Contract §13: undici is loaded inside the function that needs it.
 */

export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: Uint8Array<ArrayBuffer>
  readonly signal: AbortSignal
  /** "Redirects are refused": a 3xx is handed back, never followed. */
  readonly redirect: 'manual'
}

/** What a {@link Fetch} answers with. */
export interface FetchResponse {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  /** What an event stream is read from; without it there is none. */
  readonly body?: AsyncIterable<Uint8Array> | null | undefined
  text(): Promise<string>
}

/** The platform's `fetch` is one. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface Pool {
  readonly fetch: Fetch
  /** Ends the pool's connections; a second time does nothing. */
  close(): Promise<void>
}

/** undici's `fetch` over a pool, both made at the first request. */
export function pooledFetch(): Pool {
  let opened: ReturnType<typeof openPool> | undefined
  let closed: Promise<void> | undefined
  return {
    fetch: async (url, init) => {
      opened ??= openPool()
      return (await opened).fetch(url, init)
    },
    close: async () => {
      closed ??= opened?.then((pool) => pool.close())
      await closed
    },
  }
}

async function openPool(): Promise<Pool> {
  // Node's global fetch refuses an Agent of another undici, so both come from the package.
  const { Agent, fetch } = await import('undici')
  const dispatcher = new Agent({ connect: { timeout: 10_000 } })
  return {
    fetch: (url, init) => fetch(url, { ...init, dispatcher }),
    close: () => dispatcher.close(),
  }
}
