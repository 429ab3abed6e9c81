/**
 * One connection of a test to the primary. It is opened again after a failure, because a server starts a process for
 * each try, which a server that recovers has no time for.
 */
import pg from 'pg'

export class OwnClient {
  readonly #url: () => string
  #client: pg.Client | undefined

  /** `url` returns the address for the next connection. */
  constructor(url: () => string) {
    this.#url = url
  }

  get isOpen(): boolean {
    return this.#client !== undefined
  }

  /** @throws the error of connecting, or of the query, after which the connection is not used again */
  async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    try {
      this.#client ??= await connected(this.#url())
      return (await this.#client.query<R>(text, [...values])).rows
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => {})
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 1000,
    query_timeout: 30_000,
  })
  client.on('error', () => {})
  await client.connect()
  return client
}
