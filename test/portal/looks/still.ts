/** Waits until a page shows what it has to show. */
import type { Page, Request } from 'playwright-core'

/** A live view waits for events as long as the page is open. */
const isWait = (request: Request): boolean => request.url().includes('/events')

/** Returns the requests of the page that have no answer yet, from now on. Waits for events are left out. */
export function requestsInFlight(page: Page): ReadonlySet<Request> {
  const inFlight = new Set<Request>()
  page.on('request', (request) => {
    if (!isWait(request)) inFlight.add(request)
  })
  const end = (request: Request) => void inFlight.delete(request)
  page.on('requestfinished', end)
  page.on('requestfailed', end)
  return inFlight
}

/** Returns a function that waits until the page has a heading or a refusal, no request in flight, and has drawn twice. */
export function stillness(page: Page): () => Promise<void> {
  const inFlight = requestsInFlight(page)
  const drawn = () =>
    page.evaluate<string>(
      'new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(document.body.innerHTML))))',
    )
  return async () => {
    await page.locator('h1, .refusal').first().waitFor()
    for (let before = ''; ; ) {
      const after = await drawn()
      if (inFlight.size === 0 && after === before) return
      before = after
    }
  }
}
