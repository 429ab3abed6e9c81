/** A hidden tab sends nothing, and catches up when somebody looks at it. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { requestsInFlight } from './looks/still.ts'
import { signIn } from './sign-in.ts'

inChromium('a hidden tab', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await visitor.page.clock.install()
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const become = (state: string, page = visitor.page) =>
    page.evaluate(`(() => {
      Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })()`)

  test('sends no request after 15 seconds, and shows what came when it is visible again', async () => {
    const { page } = visitor
    const { ada, ben, project } = bridge
    const conversation = await ada.conversationWith(ben.id)
    await ada.send(conversation, ben.id, 'before')
    await page.goto(`${bridge.url}/projects/${project.id}/conversations/${conversation}`)
    await page.getByText('before', { exact: true }).waitFor()
    await become('hidden')
    await page.clock.runFor(16_000)
    let requests = 0
    page.on('request', () => {
      requests += 1
    })
    const during = async (ms: number) => {
      const before = requests
      await page.clock.runFor(ms)
      return requests - before
    }
    // Reads that began before are answered first.
    await expect.poll(() => during(6000)).toBe(0)
    expect(await during(120_000)).toBe(0)
    await ada.send(conversation, ben.id, 'while it was hidden')
    expect(await during(6000)).toBe(0)
    await become('visible')
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return page.getByText('while it was hidden', { exact: true }).count()
      })
      .toBe(1)
    expect(visitor.faults).toEqual([])
  })

  test('sends nothing more for a reading that it was hidden in', async () => {
    const { page } = visitor
    const { ada, ben, project } = bridge
    const conversation = await ada.conversationWith(ben.id)
    await page.goto(`${bridge.url}/projects/${project.id}/conversations/${conversation}`)
    await page.getByText('while it was hidden', { exact: true }).waitFor()
    const newer = '**/messages?after_sequence=2'
    const isAsked = Promise.withResolvers<void>()
    const isLate = Promise.withResolvers<void>()
    await page.route(newer, async (route) => {
      isAsked.resolve()
      await isLate.promise
      await route.continue()
    })
    // Two messages wait for their reader. Their marks are read again after what is newer.
    await page.clock.runFor(6000)
    await isAsked.promise
    await become('hidden')
    await page.clock.runFor(16_000)
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    const answer = page.waitForResponse((each) => each.url().endsWith('after_sequence=2'))
    isLate.resolve()
    await (await answer).finished()
    await page.clock.runFor(6000)
    await page.unroute(newer)
    await page.clock.runFor(6000)
    expect(requests).toEqual([])
    await become('visible')
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return requests.some((each) => each.endsWith('after_sequence=0'))
      })
      .toBe(true)
    expect(visitor.faults).toEqual([])
  })

  /** Runs the clock of all tabs until the text is on this one. */
  const shows = (tab: Page, text: string) =>
    expect
      .poll(async () => {
        await tab.clock.runFor(1000)
        return tab.getByText(text, { exact: true }).count()
      })
      .toBe(1)

  test('shows the acknowledgements of old messages that another tab told it of, when it is visible', async () => {
    const { page } = visitor
    const { ada, project, url } = bridge
    const own = await ada.conversationWith(ada.id)
    const ids: string[] = []
    for (let number = 1; number <= 220; number += 1) ids.push((await ada.send(own, ada.id, `${number}`)).id)
    const acknowledge = (...numbers: number[]) =>
      bridge.owner.ok({
        target: `/api/admin/projects/${project.id}/acknowledgements`,
        body: { message_ids: numbers.map((number) => ids[number - 1]) },
      })
    await page.goto(`${url}/projects/${project.id}`)
    const tab = await page.context().newPage()
    await tab.goto(`${url}/projects/${project.id}/conversations/${own}`)
    await shows(tab, 'Acknowledge all shown (100)')
    await expect
      .poll(async () => {
        await tab.evaluate('scrollTo(0, 0)')
        await tab.clock.runFor(1000)
        return tab.getByText('Acknowledge all shown (220)').count()
      })
      .toBe(1)
    const unread = (count: number) =>
      expect
        .poll(async () => {
          await tab.clock.runFor(1000)
          return tab.getByTitle(`${count} unacknowledged messages to you`).count()
        })
        .toBe(1)
    await become('hidden', tab)
    await tab.clock.runFor(16_000)
    await acknowledge(1, 105)
    await unread(218)
    await become('visible', tab)
    await shows(tab, 'Acknowledge all shown (218)')

    // Hidden between the two pages of messages that have these two.
    const isAsked = Promise.withResolvers<void>()
    const isLate = Promise.withResolvers<void>()
    const first = `**/conversations/${own}/messages?after_sequence=1`
    await tab.route(first, async (route) => {
      isAsked.resolve()
      await isLate.promise
      await route.continue()
    })
    await acknowledge(2, 106)
    await unread(216)
    await isAsked.promise
    await become('hidden', tab)
    await tab.clock.runFor(16_000)
    isLate.resolve()
    await shows(tab, 'Acknowledge all shown (217)')
    await become('visible', tab)
    await shows(tab, 'Acknowledge all shown (216)')

    // So many records come meanwhile that a snapshot no longer has the first of them.
    await become('hidden', tab)
    await tab.clock.runFor(16_000)
    await acknowledge(3)
    for (let number = 1; number <= 101; number += 1)
      await bridge.owner.message(project.id, bridge.ben.id, `${number}`)
    await acknowledge(4)
    await unread(214)
    await become('visible', tab)
    await shows(tab, 'Acknowledge all shown (214)')
    await tab.close()
    expect(visitor.faults).toEqual([])
  })

  interface Case {
    /** Address of the screen within the project. */
    readonly screen: () => Promise<string>
    /** What happens while the tab is hidden, and what the screen then shows. */
    readonly act: () => Promise<unknown>
    readonly shown: RegExp
  }
  const conversation = () => bridge.ada.conversationWith(bridge.ben.id)
  const cases: readonly (readonly [what: string, Case])[] = [
    [
      'conversations',
      {
        screen: async () => 'conversations',
        act: async () => bridge.ada.send(await conversation(), bridge.ben.id, 'one more'),
        shown: /^1 new$/,
      },
    ],
    [
      'tasks',
      {
        screen: async () => 'tasks',
        act: () =>
          bridge.owner.ok({
            target: `/api/admin/projects/${bridge.project.id}/tasks`,
            body: { assignee_agent_id: bridge.ben.id, title: 'Look at the log', instructions: 'All of it.' },
            key: 'a-task-while-hidden',
          }),
        shown: /^Look at the log$/,
      },
    ],
    [
      'records of the audit',
      {
        screen: async () => 'audit?kind=agent.created',
        act: () => bridge.owner.createAgent(bridge.project.id, 'cleo'),
        shown: /^1 new ↑$/,
      },
    ],
    [
      'stops of the loop guard',
      {
        screen: async () => `conversations/${await conversation()}`,
        act: async () => {
          const target = `/api/admin/projects/${bridge.project.id}/profile`
          await bridge.owner.ok({ target, body: { policy: { message_budget: 1 } } })
          const to = { conversation_id: await conversation(), recipient_agent_id: bridge.ben.id }
          const refused = { target: '/api/v1/messages', body: { ...to, type: 'note', body: 'too much' } }
          expect((await bridge.ada.call(refused)).status).toBe(429)
        },
        shown: /^The loop guard stopped the conversation here/,
      },
    ],
  ]

  test.each(cases)(
    'reads no %s that another tab tells it of, until it is visible',
    async (_, { screen, act, shown }) => {
      const { page } = visitor
      const { ada, project, url } = bridge
      const own = await ada.conversationWith(ada.id)
      await ada.send(own, ada.id, 'to you')
      await page.goto(`${url}/projects/${project.id}`)
      const tab = await page.context().newPage()
      const inFlight = requestsInFlight(tab)
      await tab.goto(`${url}/projects/${project.id}/${await screen()}`)
      const told = () => tab.getByTitle(/^\d+ unacknowledged/).getAttribute('title')
      const before = await told()
      await become('hidden', tab)
      await tab.clock.runFor(16_000)
      const requests: string[] = []
      tab.on('request', (request) => requests.push(request.url()))
      const during = async (ms: number) => {
        const sent = requests.length
        await tab.clock.runFor(ms)
        return requests.length - sent
      }
      // A slow answer may be followed by another request.
      await expect.poll(async () => (await during(6000)) + inFlight.size).toBe(0)
      requests.length = 0
      await act()
      await ada.send(own, ada.id, 'to you, after it')
      await expect
        .poll(async () => {
          await tab.clock.runFor(1000)
          return told()
        })
        .not.toBe(before)
      await tab.clock.runFor(6000)
      expect(requests).toEqual([])
      await become('visible', tab)
      await expect
        .poll(async () => {
          await tab.clock.runFor(1000)
          return tab.getByText(shown).count()
        })
        .toBeGreaterThan(0)
      await tab.close()
      expect(visitor.faults).toEqual([])
    },
  )
})
