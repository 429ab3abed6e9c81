/** Actions, shortcuts, announcements and notifications of the owner's page. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('the page', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let root: string

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    root = `${bridge.url}/projects/${bridge.project.id}`
    // Headless Chromium shows no notification, so the test reads what the page gives to it.
    await visitor.page.addInitScript(`
      window.notified = []
      window.Notification = class extends EventTarget {
        static permission = 'granted'
        static asked = 0
        static requestPermission() { this.asked += 1; return Promise.resolve('granted') }
        constructor(title, options) { super(); notified.push([title, options.body]) }
        close() {}
      }`)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const heading = (name: string) => visitor.page.getByRole('heading', { level: 1, name }).waitFor()
  const button = (name: string) => visitor.page.getByRole('button', { name, exact: true })
  const ask = (body: string) =>
    bridge.ada.conversationWith(bridge.ada.id).then((conversation_id) =>
      bridge.ada.ok<{ message: { id: string } }>({
        target: '/api/v1/messages',
        body: { conversation_id, recipient_agent_id: bridge.ada.id, type: 'question', body },
      }),
    )

  test('sends one note to every agent once, with a receipt each', async () => {
    const { page } = visitor
    await page.goto(root)
    await button('Message all agents').click()
    await page.getByLabel('Note to 2 agents').fill('Stop at noon.')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    const receipts = page.getByRole('list', { name: 'Receipts' }).getByRole('listitem')
    await expect.poll(() => receipts.filter({ hasText: 'stored' }).count()).toBe(2)
    for (const agent of [bridge.ada, bridge.ben]) {
      const { messages } = await agent.inbox()
      expect(messages.filter(({ body }) => body === 'Stop at noon.')).toHaveLength(1)
    }
  })

  test('keeps what is typed while a note to every agent is on its way, and sends it to each of them', async () => {
    const { page } = visitor
    const isLate = Promise.withResolvers<void>()
    const refusal = {
      error: 'capacity_reached',
      message: 'Full.',
      request_id: 'r',
      retryable: false,
      details: { limit: 'inbox' },
    }
    const messages = `**/api/admin/projects/${bridge.project.id}/messages`
    await page.route(messages, async (route) => {
      await isLate.promise
      const { recipient_agent_id: to } = route.request().postDataJSON()
      await (to === bridge.ben.id ? route.fulfill({ status: 429, json: refusal }) : route.continue())
    })
    await page.goto(root)
    await button('Message all agents').click()
    const box = page.getByLabel('Note to 2 agents')
    await box.fill('The first note.')
    await button('Send to all').click()
    await button('Sending… 0 of 2').waitFor()
    await box.press('End')
    await page.keyboard.type(' And more.')
    isLate.resolve()
    await page.getByText('The inbox is full.').waitFor()
    await button('Send to all').waitFor()
    expect(await box.inputValue()).toBe('The first note. And more.')
    await page.unroute(messages)
    visitor.faults.length = 0
    await button('Send to all').click()
    await expect.poll(() => box.inputValue()).toBe('')
    const received = async (agent: TestBridge['ada']) =>
      (await agent.inbox()).messages.map(({ body }) => body).filter((body) => body.startsWith('The first'))
    expect(await received(bridge.ada)).toEqual(['The first note.', 'The first note. And more.'])
    expect(await received(bridge.ben)).toEqual(['The first note. And more.'])
  })

  test('says for each agent why its note was refused, and keeps the text', async () => {
    const { page } = visitor
    const { owner } = bridge
    const cleo = await owner.createProject('archived')
    for (const name of ['cleo', 'dan']) await owner.createAgent(cleo.id, name)
    await page.goto(`${bridge.url}/projects/${cleo.id}`)
    await button('Message all agents').click()
    await page.getByLabel('Note to 2 agents').fill('Too late.')
    await owner.setProject(cleo.id, 'paused')
    await owner.setProject(cleo.id, 'archived')
    await button('Send to all').click()
    await expect.poll(() => page.getByText('The project is archived.').count()).toBe(2)
    expect(await page.getByLabel('Note to 2 agents').inputValue()).toBe('Too late.')
  })

  test('announces what needs the owner, counts it in the title, and opens it with one link', async () => {
    const { page } = visitor
    await page.goto(root)
    await page.getByText('Nothing needs you.').waitFor()
    const { message } = await ask('<b>May I?</b>')
    await page.getByRole('status').filter({ hasText: '1 item needs you.' }).waitFor()
    await expect.poll(() => page.title()).toBe('(1) Overview · bridge')
    await page.getByRole('link', { name: 'Open the conversation' }).click()
    await page.locator('.message').getByText('<b>May I?</b>').waitFor()
    await expect.poll(() => page.title()).toBe('(1) Conversation · bridge')
    await button('Answer').click()
    await page.getByText(/^Answer to #\d+/).waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('write')
    await page.keyboard.type('You may.')
    await page.keyboard.press('Control+Enter')
    await page.getByText('answered in').waitFor()
    const { messages } = await bridge.ada.inbox()
    expect(messages.find(({ body }) => body === 'You may.')).toMatchObject({ in_reply_to: message.id })
  })

  test('keeps a draft while another screen is open', async () => {
    const { page } = visitor
    await page.getByRole('textbox', { name: 'Message' }).fill('not sent yet')
    await page.getByRole('link', { name: '‹ Conversations' }).click()
    await heading('Conversations')
    await page.getByRole('link', { name: 'ada and the owner' }).click()
    await page.locator('.message').first().waitFor()
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('not sent yet')
  })

  test('goes to sections and rows by single keys, but not in a field and not if they are off', async () => {
    const { page } = visitor
    const press = (key: string) => page.keyboard.press(key)
    const box = page.getByRole('textbox', { name: 'Message' })
    await box.press('g')
    await press('o')
    expect(await box.inputValue()).toHaveLength('not sent yet'.length + 2)
    await page.evaluate('document.activeElement.blur()')
    // The second key counts for 1.5 seconds, which a busy machine may take for it.
    await expect
      .poll(async () => {
        for (const key of ['g', 'c']) await press(key)
        return page.url()
      })
      .toMatch(/\/conversations$/)
    await heading('Conversations')
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
    await page.getByRole('link', { name: 'ada and the owner' }).waitFor()
    await press('j')
    expect(await page.evaluate(`document.activeElement.closest('.rows li') !== null`)).toBe(true)
    await press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.getByRole('dialog').getByText('This list').waitFor()
    await press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await page.evaluate(`localStorage.setItem('bridge-preferences', '{"shortcuts":"off"}')`)
    await page.reload()
    await heading('Conversations')
    for (const key of ['?', 'g', 'o']) await press(key)
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(page.url()).toContain('/conversations')
    await page.evaluate('localStorage.clear()')
  })

  test('notifies only after it was turned on, while hidden, and in words of its own', async () => {
    const { page } = visitor
    const notified = () => page.evaluate<string[][]>('notified')
    await page.goto(root)
    await page.getByText('Nothing needs you.').waitFor()
    expect(await page.evaluate('Notification.asked')).toBe(0)
    await page.goto(`${bridge.url}/settings`)
    await button('Turn notifications on').click()
    await button('Turn notifications off').waitFor()
    await page.goto(root)
    await page.getByText('Nothing needs you.').waitFor()
    await page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })`,
    )
    await ask('a secret that no notification may show')
    await expect.poll(notified).toEqual([['bridge: 1 item needs you', 'A question to the owner']])
    expect(visitor.faults).toEqual([])
  })

  test('reads the inbox once for all questions that it shows', async () => {
    const { page } = visitor
    const { project } = bridge
    // The overview that is still open would read the inbox for each question that arrives.
    await page.goto('about:blank')
    await Promise.all(['one?', 'two?', 'three?'].map(ask))
    let requests = 0
    const count = () => {
      requests += 1
      return true
    }
    await page.route(
      (url) => url.pathname === `/api/admin/projects/${project.id}/inbox` && count(),
      (route) => route.continue(),
    )
    await page.goto(root)
    for (const text of ['one?', 'two?', 'three?']) await page.getByText(text, { exact: true }).waitFor()
    expect(requests).toBe(1)
    await page.unrouteAll()
    expect(visitor.faults).toEqual([])
  })
})
