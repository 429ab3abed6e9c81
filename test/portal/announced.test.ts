/** A screen reader says each change once, in one sentence, and no time that passes. */
import type { Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerName } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { listenTo, type Spoken } from './looks/spoken.ts'
import { requestsInFlight } from './looks/still.ts'
import { signIn } from './sign-in.ts'

const paused = 'Paused: agents start nothing new. Your messages still reach them.'

inChromium('a screen reader', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let spoken: Spoken
  let inFlight: ReadonlySet<Request>
  let root: string

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    root = `${bridge.url}/projects/${bridge.project.id}`
    await visitor.page.clock.install({ time: bridge.clock() })
    spoken = await listenTo(visitor.page)
    inFlight = requestsInFlight(visitor.page)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const press = (name: string) => visitor.page.getByRole('button', { name, exact: true }).click()
  const talk = () => bridge.ada.conversationWith(bridge.ben.id)
  const ask = async () => {
    const { ada } = bridge
    const conversation_id = await ada.conversationWith(ada.id)
    const body = { conversation_id, recipient_agent_id: ada.id, type: 'question', body: 'May I?' }
    await ada.ok({ target: '/api/v1/messages', body })
  }
  const write = async () => void (await bridge.ben.send(await talk(), bridge.ada.id, 'News.'))
  const isHeard = () => visitor.page.unrouteAll({ behavior: 'ignoreErrors' })

  const changes: readonly {
    readonly name: string
    readonly path: () => Promise<string> | string
    readonly act: () => Promise<unknown>
    readonly words: readonly string[]
    readonly last?: () => Promise<unknown>
  }[] = [
    { name: 'an item that needs the owner', path: () => '', act: ask, words: ['1 item needs you.'] },
    {
      name: 'a message in the open conversation',
      path: async () => `/conversations/${await talk()}`,
      act: write,
      words: ['1 new message'],
    },
    { name: 'an act with its Undo', path: () => '', act: () => press('Pause'), words: [paused] },
    {
      name: 'an act that is taken back',
      path: () => '',
      act: () => press('Resume'),
      words: ['The project is active.'],
    },
    {
      name: 'a node that is silent',
      path: () => '',
      act: () => visitor.page.route('**/api/**', (route) => route.abort()),
      words: ['Nothing heard from the node. Trying again.'],
      last: isHeard,
    },
    {
      name: 'a node that is silent, on a screen without a project',
      path: () => '/../../node',
      act: () => visitor.page.route('**/api/**', (route) => route.abort()),
      words: ['Nothing heard from the node. Trying again.'],
      last: isHeard,
    },
    {
      name: 'a page that nobody touches',
      path: () => '',
      act: () => visitor.page.clock.runFor(3_700_000),
      words: ['Paused: nothing was touched for an hour.'],
      last: () => visitor.page.keyboard.press('Shift'),
    },
  ]

  describe.each(changes)('says of $name', ({ path, act, words, last }) => {
    test('one sentence, and nothing more in half a minute', async () => {
      const { page } = visitor
      await page.goto(`${root}${await path()}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.locator('#write, .activity li, .card').first().waitFor()
      // An answer that was asked for before is not the silence of the node.
      await expect.poll(() => inFlight.size).toBe(0)
      await spoken.take()
      await act()
      const all: string[] = []
      // The clock of the page runs faster than the node answers. So the page may believe that the node is
      // silent.
      const isAsked = (sentence: string) => words.includes(sentence) || !/the node/i.test(sentence)
      await expect
        .poll(async () => {
          await page.clock.runFor(1000)
          all.push(...(await spoken.take()))
          return all.filter(isAsked).length
        })
        .toBeGreaterThanOrEqual(words.length)
      for (let second = 0; second < 30; second += 1) await page.clock.runFor(1000)
      expect([...all, ...(await spoken.take())].filter(isAsked)).toEqual(words)
      await last?.()
    })
  })

  test('hears once that a silent node answers again', async () => {
    const { page } = visitor
    await page.goto(root)
    await page.locator('.activity li').first().waitFor()
    await page.route('**/api/**', (route) => route.abort())
    const all: string[] = []
    const until = (words: string) =>
      expect
        .poll(async () => {
          await page.clock.runFor(1000)
          all.push(...(await spoken.take()))
          return all
        })
        .toContain(words)
    await until('Nothing heard from the node. Trying again.')
    await isHeard()
    await until('The node answers again.')
    expect(all.filter((each) => /the node/i.test(each))).toEqual([
      'Nothing heard from the node. Trying again.',
      'The node answers again.',
    ])
  })

  test('hears the wait after wrong passwords once, and its end, while the field keeps the focus', async () => {
    const { page, close } = await chromium.visitor(bridge.url)
    await page.clock.install({ time: bridge.clock() })
    const { take } = await listenTo(page)
    await page.goto(`${bridge.url}/sign-in`)
    await page.getByLabel('Name').fill(ownerName)
    const password = page.getByLabel('Password', { exact: true })
    const timer = page.getByRole('timer')
    for (let tries = 0; tries < 12 && !(await timer.isVisible()); tries += 1) {
      await password.fill(`not the password ${tries}`)
      const answered = page.waitForResponse((reply) => reply.url().endsWith('/api/admin/session'))
      await password.press('Enter')
      await answered
      await page.getByRole('alert').waitFor()
    }
    const left = async () => Number.parseInt((await timer.textContent()) ?? '', 10)
    const first = await left()
    await page.clock.runFor(2000)
    expect(await left()).toBeLessThan(first)
    await page.clock.runFor(1000 * first)
    await page.getByText('Too many tries. Try again now.').waitFor()
    expect((await take()).filter((each) => /Too many/.test(each))).toEqual([
      expect.stringMatching(/^Too many tries\. Try again in \.Request/),
      expect.stringMatching(/^Too many tries\. Try again now\.Request/),
    ])
    expect(await page.evaluate('document.activeElement.type')).toBe('password')
    await close()
  })
})
