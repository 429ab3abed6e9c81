/** Every place of the browser where a secret could stay. */
import type { CDPSession, Page } from 'playwright-core'
import type { Visitor } from './chromium.ts'

/** Texts of the document, then those of each place that outlives it. */
export const traces = ({ page }: Visitor): Promise<string[]> =>
  page.evaluate<string[]>(`[
    document.documentElement.outerHTML + [...document.querySelectorAll('input, textarea')].map((each) => each.value),
    location.href + document.title + JSON.stringify(history.state),
    JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie,
  ]`)

/** All strings in the memory of the page's scripts. */
export async function memory({ page }: Visitor): Promise<string> {
  const session = await page.context().newCDPSession(page)
  const chunks: string[] = []
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => chunks.push(chunk))
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  await session.detach()
  return chunks.join('')
}

/** Addresses and titles behind the back button. */
async function historyOf(session: CDPSession): Promise<string> {
  const { entries } = await session.send('Page.getNavigationHistory')
  return JSON.stringify(entries.map(({ url, title }) => [url, title]))
}

export interface Watched {
  /** Bodies of the requests that held the secret. */
  bodiesWith(secret: string): string[]
  /** Names each place where the secret is now, or was sent or written to. */
  placesOf(secret: string): Promise<string[]>
}

/** Records what a page sends and logs from now on. */
export async function watch(visitor: Visitor): Promise<Watched> {
  const { page } = visitor
  const addresses: string[] = []
  const bodies: string[] = []
  const logged: string[] = []
  page.on('request', (request) => {
    addresses.push(`${request.url()} ${JSON.stringify(request.headers())}`)
    bodies.push(request.postData() ?? '')
  })
  page.on('console', (message) => logged.push(message.text()))
  const session = await page.context().newCDPSession(page)
  return {
    bodiesWith: (secret) => bodies.filter((each) => each.includes(secret)),
    async placesOf(secret) {
      const [document = '', address = '', storage = ''] = await traces(visitor)
      const places = {
        ...{ document, address, storage, history: await historyOf(session) },
        ...{ requests: addresses.join(), console: logged.join(), files: await stored(page) },
        memory: await memory(visitor),
      }
      return Object.entries(places).flatMap(([name, text]) => (text.includes(secret) ? [name] : []))
    },
  }
}

/** Names of all databases and caches, with the entries of the caches. The page makes none. */
const stored = (page: Page): Promise<string> =>
  page.evaluate<string>(`(async () => JSON.stringify([
    await indexedDB.databases(),
    await Promise.all((await caches.keys()).map(async (name) => [name, (await (await caches.open(name)).keys()).map(({ url }) => url)])),
    window.name,
  ]))()`)
