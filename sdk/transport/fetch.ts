/**
 * The subset of `fetch` that the SDK uses, and its default implementation: undici with a separate connection
 * pool.
 *
 * Contract §13: undici is loaded inside the function that needs it.
 */
import { trusting } from './authorities.ts'

/** Request that a {@link Fetch} sends. */
export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: Uint8Array<ArrayBuffer>
  readonly signal: AbortSignal
  /** "Redirects are refused": fetch returns a 3xx and does not follow it. */
  readonly redirect: 'manual'
}

/** Response of a {@link Fetch}. */
export interface FetchResponse {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  /** Body as a stream, needed for the event stream only. */
  readonly body?: AsyncIterable<Uint8Array> | null | undefined
  text(): Promise<string>
}

/** Function that sends one HTTP request. The platform's `fetch` has this type. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface Pool {
  readonly fetch: Fetch
  /** Closes the pool's connections. Calling it again has no effect. */
  close(): Promise<void>
}

/**
 * Returns undici's `fetch` on a new pool. The first request loads undici and creates the pool. The pool trusts `ca`, in
 * PEM, besides the authorities of the process.
 */
export function pooledFetch(ca?: string): Pool {
  let opened: ReturnType<typeof openPool> | undefined
  let closed: Promise<void> | undefined
  return {
    fetch: async (url, init) => {
      opened ??= openPool(ca)
      return (await opened).fetch(url, init)
    },
    close: async () => {
      closed ??= opened?.then((pool) => pool.close())
      await closed
    },
  }
}

async function openPool(ca: string | undefined): Promise<Pool> {
  // Node's global fetch refuses an Agent from the undici package, so both come from the package.
  const { Agent, fetch } = await import('undici')
  const dispatcher = new Agent({ connect: { timeout: 10_000, ...(await trusting(ca)) } })
  return {
    fetch: (url, init) => fetch(url, { ...init, dispatcher }),
    close: () => dispatcher.close(),
  }
}
