/**
 * The time from the node's answer to a program until the page has painted the effect: a message, its mark, and an
 * agent that listens. The programs and the browser share the clock of one machine.
 *
 * `BRIDGE_PAGE_TIMES=50` measures 50 messages. Without it the tests are skipped.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

const rounds = Number(process.env.BRIDGE_PAGE_TIMES ?? 0)

/** Runs in the page: returns when the page first painted a match of the pattern in the element, in wall milliseconds. */
const paintedAt = (selector: string, pattern: RegExp) => `new Promise((done) => {
  const look = () => [...document.querySelectorAll(${JSON.stringify(selector)})].some((each) => ${pattern}.test(each.innerText))
    ? requestAnimationFrame(() => setTimeout(() => done(performance.timeOrigin + performance.now())))
    : requestAnimationFrame(look)
  look()
})`

/** Prints the distribution, and returns its 95th percentile. */
function p95(what: string, times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN)
  process.stdout.write(
    `${what}: ${times.length} times, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, most ${at(1)} ms\n`,
  )
  return at(0.95)
}

inChromium('the page', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    if (rounds === 0) return
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium?.close()
    await bridge?.close()
  })

  test.skipIf(rounds === 0)('shows a message and its mark within a second', async () => {
    const { page } = visitor
    const { ada, ben, project } = bridge
    const id = await ada.conversationWith(ben.id)
    await ada.send(id, ben.id, 'message 0')
    await page.goto(`${bridge.url}/projects/${project.id}/conversations/${id}`)
    await page.locator('.message').first().waitFor()
    const times = { messages: [] as number[], marks: [] as number[] }
    for (let round = 1; round <= rounds; round += 1) {
      const number = `[data-number="${round + 1}"]`
      const message = page.evaluate<number>(paintedAt(number, new RegExp(`message ${round}\\b`)))
      const { id: sent } = await ada.send(id, ben.id, `message ${round}`)
      const storedAt = Date.now()
      times.messages.push((await message) - storedAt)
      await ben.inbox()
      const mark = page.evaluate<number>(paintedAt(number, /acknowledged/))
      await ben.acknowledge(sent)
      const acknowledgedAt = Date.now()
      times.marks.push((await mark) - acknowledgedAt)
    }
    expect(p95('messages', times.messages)).toBeLessThan(1000)
    expect(p95('marks', times.marks)).toBeLessThan(1000)
    expect(visitor.faults).toEqual([])
  })

  test.skipIf(rounds === 0)('shows within a second that an agent listens', async () => {
    const { page } = visitor
    await page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    const times: number[] = []
    for (let round = 1; round <= Math.min(rounds, 10); round += 1) {
      const agent = await bridge.agent(`listener ${round}`)
      await page.getByRole('rowheader', { name: agent.name, exact: true }).waitFor()
      const shown = page.evaluate<number>(
        paintedAt('tr', new RegExp(`^\\s*${agent.name}\\b[^]*Listening now`)),
      )
      const asksAt = Date.now()
      const wait = agent.inbox('?wait_seconds=2')
      times.push((await shown) - asksAt)
      await wait
    }
    expect(p95('listening', times)).toBeLessThan(1000)
    expect(visitor.faults).toEqual([])
  })
})
