/**
 * The overview of 50 agents beside a bare page with the same styles, which reads the same snapshot and prints it as
 * text: the time until the largest part is painted.
 *
 * `BRIDGE_PAINTS=9` measures nine loads of each, in turn. Without it the test is skipped.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

const rounds = Number(process.env.BRIDGE_PAINTS ?? 0)

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN

/** Runs in the page: the time of its largest paint once the given text is there. */
const paintOf = (text: string) => `new Promise((done) => {
  let last = 0
  new PerformanceObserver((list) => { for (const { startTime } of list.getEntries()) last = startTime })
    .observe({ type: 'largest-contentful-paint', buffered: true })
  const look = () => document.body.innerText.includes(${JSON.stringify(text)}) && last > 0
    ? requestAnimationFrame(() => setTimeout(() => done(last), 50)) : requestAnimationFrame(look)
  look()
})`

inChromium('the overview of 50 agents', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let overview: string

  beforeAll(async () => {
    if (rounds === 0) return
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    const { id } = await bridge.owner.createProject('fifty')
    for (let index = 1; index <= 50; index += 1) await bridge.owner.createAgent(id, `agent ${index}`)
    overview = `${bridge.url}/projects/${id}`
    visitor = await chromium.visitor(bridge.url)
    const { page } = visitor
    await signIn(page, bridge.url)
    const styles = await page.locator('link[rel=stylesheet]').getAttribute('href')
    const script = `fetch('/api/admin/projects/${id}', { cache: 'no-store' }).then((reply) => reply.json())
      .then((snapshot) => { document.querySelector('pre').textContent = JSON.stringify(snapshot, null, 1) })`
    // Both pages come through these routes, so the cache of the browser serves neither.
    await page.route('**/bare.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
    const body = `<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="${styles}"><pre></pre><script type="module" src="/bare.js"></script>`
    await page.route('**/bare', (route) => route.fulfill({ contentType: 'text/html', body }))
  })
  afterAll(async () => {
    await chromium?.close()
    await bridge?.close()
  })

  test.skipIf(rounds === 0)('is painted within twice the time of the bare page', async () => {
    const { page } = visitor
    const times = { page: [] as number[], bare: [] as number[] }
    for (let round = 0; round <= rounds; round += 1)
      for (const [what, url] of [
        ['bare', `${bridge.url}/bare`],
        ['page', overview],
      ] as const) {
        await page.goto(url)
        const ms = await page.evaluate<number>(paintOf('agent 50'))
        // The first round warms up.
        if (round > 0) times[what].push(ms)
      }
    const ratio = median(times.page) / median(times.bare)
    process.stdout.write(
      `largest paint: ${median(times.page)} ms, bare ${median(times.bare)} ms, ratio ${ratio.toFixed(2)}\n`,
    )
    expect(ratio).toBeLessThanOrEqual(2)
  })
})
