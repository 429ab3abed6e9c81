/**
 * A conversation with many messages costs the page no more than one with a hundred.
 *
 * `BRIDGE_PAGE_MESSAGES=10000` makes it longer, and measures the times of opening, the memory afterwards, and the
 * frames of the wheel beside those of an empty page.
 */
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databasePath } from '../../server/storage/data-folder.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { heldBy, wheelFrames } from './looks/costs.ts'
import { signIn } from './sign-in.ts'
import { memory } from './traces.ts'

const long = process.env.BRIDGE_PAGE_MESSAGES
const count = Number(long ?? 600)

inChromium('a long history', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  const conversations = { short: '', long: '' }

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    const { ada, ben } = bridge
    conversations.short = await ada.conversationWith(ada.id)
    conversations.long = await ada.conversationWith(ben.id)
    for (const [id, to] of [
      [conversations.short, ada.id],
      [conversations.long, ben.id],
    ] as const)
      await ada.send(id, to, 'first')
    repeat(conversations.short, 100)
    repeat(conversations.long, count)
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  /** Copies the first message of a conversation until it has so many. */
  function repeat(conversation: string, messages: number): void {
    const database = new Database(databasePath(bridge.data))
    const first = database.prepare('SELECT * FROM messages WHERE conversation_id = ?').get(conversation)
    const row = first as Record<string, string | number | null>
    const names = Object.keys(row)
    const insert = database.prepare(
      `INSERT INTO messages (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    )
    database.transaction(() => {
      for (let sequence = 2; sequence <= messages; sequence += 1) {
        const id = `${String(row.id).slice(0, 24)}${(sequence + (conversation === conversations.long ? 2 ** 32 : 0)).toString(16).padStart(12, '0')}`
        const copy = {
          ...row,
          id,
          root_id: id,
          sequence,
          body: `number ${sequence}`,
          acknowledged_at: row.created_at,
        }
        insert.run(...names.map((name) => (copy as typeof row)[name]))
      }
      database.prepare('UPDATE conversations SET last_sequence = ? WHERE id = ?').run(messages, conversation)
    })()
    database.close()
  }

  /** Runs in the page: the number of the first window of messages that was read. */
  const firstOf = `Number(document.querySelector('[data-window]').dataset.window)`
  /** Runs in the page: true once the messages at the top of the view are drawn. */
  const near = `document.querySelector('[data-window]').childElementCount > 0`
  const firstWindow = () => visitor.page.evaluate<number>(firstOf)

  const nodes = () => visitor.page.evaluate<number>(`document.querySelectorAll('*').length`)
  const open = async (id: string, messages: number): Promise<number> => {
    const { page } = visitor
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/conversations`)
    await page.locator('.rows a').first().waitFor()
    const begun = performance.now()
    await page.locator(`a[href$="${id}"]`).click()
    await page.getByText(`number ${messages}`, { exact: true }).waitFor()
    return performance.now() - begun
  }

  /** Scrolls to the first message. Returns the numbers of elements on the way. */
  const scrollToTop = async (): Promise<number[]> => {
    const { page } = visitor
    const counts = [await nodes()]
    for (let first = Number.POSITIVE_INFINITY; first > 0; first = await firstWindow()) {
      counts.push(await nodes())
      // Only a page that reads nothing for half a minute fails, however slow the machine is.
      await page.waitForFunction(`scrollTo(0, 0) || ${firstOf} < ${first} && ${near}`)
    }
    await page.evaluate('scrollTo(0, 0)')
    await page.getByText('first', { exact: true }).waitFor()
    return [...counts, await nodes()]
  }
  const leave = async () => {
    const { page } = visitor
    // The rail is always in view, so the click scrolls nothing.
    await page.getByRole('navigation').getByRole('link', { name: 'Conversations' }).click()
    await page.getByRole('heading', { level: 1, name: 'Conversations' }).waitFor()
  }

  test('has no more elements at its end, in its middle and at its beginning than a short one twice over', {
    timeout: 600_000,
  }, async () => {
    await open(conversations.short, 100)
    const short = await nodes()
    await open(conversations.long, count)
    const counts = await scrollToTop()
    expect(Math.max(...counts)).toBeLessThan(2 * short + 10 * (count / 25))
    expect(visitor.faults).toEqual([])
  })

  test('is out of the memory of the page as soon as it is left', { timeout: 600_000 }, async () => {
    const body = `number ${count - 10}`
    // The first visit loads the screens of a conversation and of the list.
    await open(conversations.short, 100)
    await leave()
    await visitor.page.locator(`a[href$="${conversations.long}"]`).click()
    await visitor.page.getByText(body, { exact: true }).waitFor()
    expect(await memory(visitor)).toContain(body)
    await leave()
    expect(await memory(visitor)).not.toContain(body)
  })

  test.skipIf(long === undefined)(
    'leaves at most a fifth more data than a short one',
    { timeout: 600_000 },
    async () => {
      // The short one loads all code that the long one needs.
      await open(conversations.short, 100)
      await scrollToTop()
      await leave()
      const before = await heldBy(visitor)
      await visitor.page.locator(`a[href$="${conversations.long}"]`).click()
      await visitor.page.getByText(`number ${count}`, { exact: true }).waitFor()
      await scrollToTop()
      const during = await heldBy(visitor)
      await leave()
      const after = await heldBy(visitor)
      const kib = ({ data, code }: typeof before) =>
        `${(data / 1024).toFixed()} KiB and ${(code / 1024).toFixed()} KiB of code`
      process.stdout.write(`held before: ${kib(before)}, open: ${kib(during)}, after: ${kib(after)}\n`)
      expect(after.data).toBeLessThan(1.2 * before.data)
    },
  )

  test.skipIf(long === undefined)(
    'opens in at most three times the time of a short one',
    { timeout: 600_000 },
    async () => {
      const times = { short: Number.POSITIVE_INFINITY, long: Number.POSITIVE_INFINITY }
      for (let round = 0; round < 5; round += 1) {
        times.short = Math.min(times.short, await open(conversations.short, 100))
        times.long = Math.min(times.long, await open(conversations.long, count))
      }
      process.stdout.write(
        `opening: 100 messages ${times.short.toFixed()} ms, ${count} messages ${times.long.toFixed()} ms\n`,
      )
      expect(times.long).toBeLessThan(3 * times.short)
    },
  )

  test.skipIf(long === undefined)(
    'scrolls by wheel in frames like those of an empty page',
    { timeout: 600_000 },
    async () => {
      const { page } = visitor
      await page.route('**/empty', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html><canvas height="200000"></canvas>' }),
      )
      const best = { empty: Number.POSITIVE_INFINITY, thread: Number.POSITIVE_INFINITY }
      for (let round = 0; round < 5; round += 1) {
        await page.goto(`${bridge.url}/empty`)
        await page.evaluate('scrollTo(0, 1e9)')
        best.empty = Math.min(best.empty, await wheelFrames(page))
        await open(conversations.long, count)
        best.thread = Math.min(best.thread, await wheelFrames(page))
      }
      process.stdout.write(
        `frames of the wheel, p95: ${best.thread.toFixed(1)} ms, empty page ${best.empty.toFixed(1)} ms\n`,
      )
      expect(best.thread).toBeLessThanOrEqual(2 * best.empty)
      expect(visitor.faults).toEqual([])
    },
  )
})
