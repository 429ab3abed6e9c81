/** A test may end while its page waits for an answer: closing the page is no fault of the run. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inChromium, startChromium } from './chromium.ts'

inChromium('a browser', () => {
  let site: Server
  let origin: string
  /** Requests for `/slow` that arrived. None of them has an answer. */
  let slow = 0
  const rejected: unknown[] = []
  const reject = (reason: unknown) => void rejected.push(reason)

  beforeAll(async () => {
    site = createServer(({ url }, reply) => {
      if (url === '/slow') slow += 1
      else reply.setHeader('Content-Type', 'text/html').end('<title>a site</title>')
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    process.on('unhandledRejection', reject)
  })
  afterAll(async () => {
    process.off('unhandledRejection', reject)
    site.closeAllConnections()
    await new Promise((resolve) => site.close(resolve))
  })

  /** A page whose answer to `/slow` is fetched by the test, and does not arrive. */
  const waiting = async () => {
    const chromium = await startChromium()
    const visitor = await chromium.visitor(origin)
    const { page } = visitor
    const before = slow
    await page.route('**/slow', async (route) => route.fulfill({ response: await route.fetch() }))
    await page.goto(origin)
    await page.evaluate(`void fetch('/slow').catch(() => {})`)
    await expect.poll(() => slow).toBe(before + 1)
    return { chromium, visitor }
  }
  const settled = () => new Promise((resolve) => setTimeout(resolve, 50))

  test('that is closed rejects no promise of a route', async () => {
    const { chromium } = await waiting()
    await chromium.close()
    await settled()
    expect(rejected).toEqual([])
  })

  test('whose page is closed rejects no promise of a route', async () => {
    const { chromium, visitor } = await waiting()
    await visitor.close()
    await settled()
    expect(rejected).toEqual([])
    await chromium.close()
  })

  test('whose page is closed while a dialog is open rejects no promise', async () => {
    const chromium = await startChromium()
    const { page, faults, close } = await chromium.visitor(origin)
    await page.goto(origin)
    await page.evaluate(`void setTimeout(() => alert('hello'))`)
    await expect.poll(() => faults).toEqual(['a dialog: hello'])
    await close()
    await settled()
    expect(rejected).toEqual([])
    await chromium.close()
  })
})
