/** Conversations on the owner's page: reading, writing as the owner, acknowledging. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { limits } from '../../sdk/contract/limits.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('a conversation', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    const policy = { message_budget: 1_000_000 }
    await bridge.owner.ok({ target: `/api/admin/projects/${bridge.project.id}/profile`, body: { policy } })
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const open = async (id: string, query = '') => {
    await visitor.page.goto(`${bridge.url}/projects/${bridge.project.id}/conversations/${id}${query}`)
    await visitor.page.locator('.message').first().waitFor()
  }
  const send = () => visitor.page.getByRole('button', { name: 'Send', exact: true }).click()
  const count = (text: string) => visitor.page.getByText(text, { exact: true }).count()

  test('shows a new message and its acknowledgement without a reload', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const id = await ada.conversationWith(ben.id)
    await ada.send(id, ben.id, 'first')
    await open(id)
    const sent = await ada.send(id, ben.id, 'while it is open')
    await page.getByText('while it is open', { exact: true }).waitFor()
    const unoffered = page.getByText('stored; not offered to a listener', { exact: true })
    expect(await unoffered.last().getAttribute('title')).toContain('not counted until it acknowledges')
    await ben.inbox()
    await page
      .getByText(/^ ?offered/)
      .first()
      .waitFor()
    await ben.acknowledge(sent.id)
    await page.getByText(/^ ?acknowledged/).waitFor()
  })

  test('takes a message of the owner once, also after two presses', async () => {
    const { ada, ben } = bridge
    const { page, picture } = visitor
    await open(await ada.conversationWith(ben.id))
    await page.getByLabel('Message').fill('from the owner')
    await page.keyboard.press('Control+Enter')
    await page.keyboard.press('Control+Enter')
    await page.getByText('from the owner', { exact: true }).waitFor()
    await expect.poll(() => page.getByLabel('Message').inputValue()).toBe('')
    expect(await page.getByRole('alert').count()).toBe(0)
    const { messages } = await bridge.ada.ok<{ messages: { body: string }[] }>({
      target: `/api/v1/conversations/${await ada.conversationWith(ben.id)}/messages`,
    })
    expect(messages.filter(({ body }) => body === 'from the owner')).toHaveLength(1)
    await picture('thread')
  })

  test('counts the time for a reply from the sending, and shows it after a look at another screen', async () => {
    const { ada, ben, clock, project } = bridge
    const { page } = visitor
    const id = await ada.conversationWith(ben.id)
    await ada.send(id, ben.id, 'before the question')
    await open(id)
    await page.getByLabel('Type').selectOption('question')
    await page.getByLabel('Reply by').selectOption('10')
    await page.getByLabel('Message').fill('by when?')
    await page.getByRole('link', { name: 'Tasks', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor()
    await page.goBack()
    await page.getByLabel('Message').waitFor()
    expect(await page.getByLabel('Reply by').inputValue()).toBe('10')
    const heard = page.waitForResponse(async (answer) => {
      if (!answer.url().endsWith(`/api/admin/projects/${project.id}`)) return false
      return Date.parse(((await answer.json()) as { observed_at: string }).observed_at) > choice + 600_000
    })
    const choice = clock().getTime()
    clock.step(11 * 60)
    onTestFinished(() => clock.step(-11 * 60))
    await ada.send(id, ben.id, 'much later')
    await heard
    await page.getByText('much later', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => page.getByLabel('Message').inputValue()).toBe('')
    const { messages } = await ada.ok<{
      messages: { body: string; expects_reply_by: string; created_at: string }[]
    }>({ target: `/api/v1/conversations/${id}/messages` })
    const sent = messages.find(({ body }) => body === 'by when?')
    expect(sent?.expects_reply_by.localeCompare(sent.created_at)).toBe(1)
    expect(await page.getByLabel('Reply by').count()).toBe(0)
  })

  test('acknowledges messages to the owner with one button, and not by reading', async () => {
    const { ada, owner, project } = bridge
    const { page } = visitor
    const own = await ada.conversationWith(ada.id)
    for (const text of ['one', 'two']) await ada.send(own, ada.id, text)
    await open(own)
    await page.goto(`${bridge.url}/projects/${project.id}/conversations`)
    const row = page.locator('[data-row]', { hasText: 'ada and the owner' })
    await row.getByText('2 unacknowledged', { exact: true }).waitFor()
    await row.getByText(/^2 messages, the last /).waitFor()
    await page.getByTitle('2 unacknowledged messages to you').waitFor()
    await open(own)
    const waiting = () =>
      owner.ok<{ messages: unknown[] }>({ target: `/api/admin/projects/${project.id}/inbox` })
    expect((await waiting()).messages).toHaveLength(2)
    await expect.poll(() => page.getByText('to you; not acknowledged').count()).toBe(2)
    await page.getByRole('button', { name: 'Acknowledge all shown (2)' }).click()
    await expect.poll(() => page.getByRole('button', { name: /^Acknowledge/ }).count()).toBe(0)
    expect((await waiting()).messages).toHaveLength(0)
    await page.getByRole('link', { name: '‹ Conversations' }).click()
    await row.waitFor()
    await expect.poll(() => page.getByText('unacknowledged').count()).toBe(0)
    await expect.poll(() => page.getByTitle(/unacknowledged message/).count()).toBe(0)
  })

  test('opens and closes the menu of a narrow screen by the keyboard', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 360, height: 800 })
    await page.locator('.where').getByText('demo').waitFor()
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.press('Enter')
    await page.getByRole('link', { name: 'Audit', exact: true }).focus()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('#sections').isVisible()).toBe(false)
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Menu')
    await page.goto(`${bridge.url}/settings`)
    await page.getByRole('link', { name: 'bridge', exact: true }).waitFor()
    await page.getByText('? opens their list.').waitFor()
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('opens at its end, draws at most seven windows, and reads older messages when scrolled up', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const id = await ben.conversationWith(ada.id)
    for (let number = 1; number <= 390; number += 1) await ben.send(id, ada.id, `number ${number}`)
    await open(id)
    await page.getByText('number 390', { exact: true }).waitFor()
    expect(await page.getByText('number 390', { exact: true }).isVisible()).toBe(true)
    expect(await count('number 1')).toBe(0)
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, -4000)
        expect(await page.locator('.message').count()).toBeLessThanOrEqual(7 * 25)
        return page.getByText('number 1', { exact: true }).count()
      })
      .toBe(1)
    await page.getByRole('link', { name: '#1', exact: true }).waitFor()
    // The page announces no old message as new.
    expect(await page.locator('.unseen[role=status]').textContent()).not.toContain('new message')
    expect(visitor.faults).toEqual([])
  })

  test('opens at its end also if its heading takes the focus after the messages were drawn', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const id = await ben.conversationWith(ada.id)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/conversations`)
    // Frames and short delays, by which the page gives the focus, come later than the messages.
    await page.evaluate(`{
      const [frame, later] = [requestAnimationFrame, setTimeout]
      window.requestAnimationFrame = (run) => later(() => frame(run), 1000)
      window.setTimeout = (run, ms = 0) => later(run, ms > 0 && ms < 100 ? 1000 : ms)
    }`)
    await page.locator(`a[href$="${id}"]`).first().click()
    await page.getByText('number 390', { exact: true }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('H1')
    const top = `[...document.querySelectorAll('.message')].at(-1).getBoundingClientRect().top - innerHeight`
    expect(await page.evaluate<number>(top)).toBeLessThan(0)
    await page.getByRole('link', { name: 'Tasks', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor()
    expect(await page.evaluate('scrollY')).toBe(0)
    expect(visitor.faults).toEqual([])
  })

  test('keeps the place of a reader who has scrolled up, and says how many messages are new', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const id = await ben.conversationWith(ada.id)
    await open(id, '?at=100')
    const top = () =>
      page.evaluate<number>(
        `document.querySelector('[data-number="100"]')?.getBoundingClientRect().top ?? -1`,
      )
    await expect.poll(top).toBeLessThan(200)
    expect(await page.evaluate(`document.activeElement?.getAttribute('data-number')`)).toBe('100')
    // More is read at both ends of the range, and nothing moves.
    await expect.poll(() => page.locator('[data-number="60"]').count()).toBe(1)
    await expect.poll(top).toBeGreaterThan(0)
    expect(await top()).toBeLessThan(200)
    await page.getByRole('button', { name: 'Newest messages ↓' }).click()
    await expect.poll(() => page.getByRole('button', { name: /↓$/ }).count()).toBe(0)
    const place = `document.querySelector('[data-number="370"]').getBoundingClientRect().top`
    await page.evaluate('scrollBy(0, -3000)')
    await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
    const before = await page.evaluate<number>(place)
    await ben.send(id, ada.id, 'first new one')
    await ben.send(id, ada.id, 'second new one')
    await page.getByRole('button', { name: '2 new messages ↓' }).waitFor()
    expect(Math.abs((await page.evaluate<number>(place)) - before)).toBeLessThan(5)
    await page.getByRole('button', { name: '2 new messages ↓' }).click()
    await expect.poll(() => page.getByText('second new one', { exact: true }).isVisible()).toBe(true)
    await expect.poll(() => page.getByRole('button', { name: /↓$/ }).count()).toBe(0)
    expect(visitor.faults).toEqual([])
  })

  test('opens at the address of a message, and refuses one that does not exist', async () => {
    const { ada, ben, project } = bridge
    const { page } = visitor
    const id = await ada.conversationWith(ben.id)
    const { id: message, sequence } = await ada.send(id, ben.id, 'found by its id')
    await page.goto(`${bridge.url}/projects/${project.id}/messages/${message}`)
    await page.waitForURL(`**/conversations/${id}?at=${sequence}`)
    await page.getByText('found by its id', { exact: true }).waitFor()
    await page.goto(`${bridge.url}/projects/${project.id}/messages/${id}`)
    await page.getByRole('heading', { name: 'The message was not found' }).waitFor()
  })

  test('cannot be opened at the address of a notice of the service, which says why', async () => {
    const { owner, project } = bridge
    const cleo = await bridge.agent('cleo')
    const { page, faults } = visitor
    await owner.ok({
      target: `/api/admin/projects/${project.id}/tasks`,
      body: { assignee_agent_id: cleo.id, title: 'Look', instructions: 'At the log.' },
      key: 'a-task-with-a-notice',
    })
    const { messages } = await cleo.inbox()
    const notice = messages.find((each) => each.body.includes(': Look'))?.id ?? ''
    await cleo.acknowledge(notice)
    await page.goto(`${bridge.url}/projects/${project.id}/messages/${notice}`)
    await page.getByText('The audit has no such record of a notice of the service').waitFor()
    await page.getByRole('link', { name: 'Its other records in the audit' }).click()
    await page.locator('summary').filter({ hasText: 'message acknowledged' }).waitFor()
    await page.goBack()
    await page.getByRole('link', { name: 'All conversations' }).click()
    await page.getByRole('heading', { level: 1, name: 'Conversations' }).waitFor()
    expect(faults).toEqual([])
  })

  test('links an answer, says that a reply is overdue, and shows a sealed body as sealed', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const id = await ada.conversationWith(ben.id)
    const ask = (fields: object) =>
      ada.ok<{ message: { id: string; sequence: number } }>({
        target: '/api/v1/messages',
        body: { conversation_id: id, recipient_agent_id: ben.id, type: 'question', ...fields },
      })
    const replyBy = new Date(bridge.clock().getTime() + 60_000).toISOString()
    const { message } = await ask({ body: 'When?', expects_reply_by: replyBy })
    bridge.clock.advance(120)
    await ask({
      body: `-----BEGIN AGE ENCRYPTED FILE-----\n${'A'.repeat(64)}\n-----END AGE ENCRYPTED FILE-----`,
      encoding: 'age',
    })
    await open(id)
    const question = page.locator(`[data-number="${message.sequence}"]`)
    await question.getByText(/^Reply expected by .*: overdue$/).waitFor()
    await page.getByText('Sealed for ben: only its machine can open this.').waitFor()
    await ben.ok({
      target: '/api/v1/messages',
      body: {
        conversation_id: id,
        recipient_agent_id: ada.id,
        type: 'answer',
        body: 'Now.',
        in_reply_to: message.id,
      },
    })
    await page
      .getByText('in reply to')
      .getByRole('link', { name: `#${message.sequence}` })
      .waitFor()
    await question.getByText('answered in').waitFor()
    expect(await question.getByText(/overdue$/).count()).toBe(0)
    expect(visitor.faults).toEqual([])
  })

  test('folds a long body, and shows addresses with the host that they lead to', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const id = await ada.conversationWith(ben.id)
    const lines = Array.from({ length: 4100 }, (_, index) => `line ${index + 1}`)
    await ada.send(id, ben.id, lines.join('\n'))
    await ada.send(
      id,
      ben.id,
      'See https://google.com@xn--pple-43d.example/login, or (https://аpple.example/). Hidden\u200b text.\n```\nnpm test\n```',
    )
    await open(id)
    const [long, spoofed] = [page.locator('figure').nth(-2), page.locator('figure').last()]
    await long.getByText('line 12').waitFor()
    expect(await long.textContent()).not.toContain('line 13')
    await long.getByRole('button', { name: /^Show the first 2000 lines \(4100 lines, 39 KB\)$/ }).click()
    expect(await long.textContent()).toContain('line 2000')
    expect(await long.textContent()).not.toContain('line 2001')
    await long.getByRole('button', { name: 'Show 2000 more lines' }).click()
    await long.getByRole('button', { name: 'Show 100 more lines' }).click()
    expect(await long.textContent()).toContain('line 4100')
    await long.getByRole('button', { name: 'Show less' }).click()
    expect(await spoofed.textContent()).toContain('1 invisible character shown')
    await spoofed.getByText('2 addresses in this text').click()
    expect(await spoofed.getByText('xn--pple-43d.example', { exact: true }).count()).toBe(2)
    expect(await spoofed.getByText('аpple.example', { exact: true }).count()).toBe(2)
    expect(await spoofed.locator('a').count()).toBe(0)
    expect(visitor.faults).toEqual([])
  })

  test('refuses a text that is too long, and says by how much', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    await open(await ada.conversationWith(ben.id))
    await page.getByLabel('Message').fill('a'.repeat(limits.messageBodyBytes + 3277))
    await page.getByText('3.2 KiB too long. Send a file, or shorten it.').waitFor()
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)
    await page.getByLabel('Message').fill('')
    await page.getByText('Ctrl+Enter sends', { exact: true }).waitFor()
  })

  test('says that the node answers again after it lost a message, and sends it once', async () => {
    const { page } = visitor
    const { ada, ben, project } = bridge
    await open(await ada.conversationWith(ben.id))
    const target = `**/api/admin/projects/${project.id}/messages`
    await page.route(target, (route) => route.abort())
    await page.getByLabel('Message').fill('sent after a silence')
    await send()
    await page.getByText('The node answers again. Send your text again: it takes effect once.').waitFor()
    expect(await page.getByText('The node does not answer.').count()).toBe(0)
    await page.unroute(target)
    visitor.faults.length = 0
    await send()
    await page.locator('.message').getByText('sent after a silence', { exact: true }).waitFor()
    expect(await count('The node answers again.')).toBe(0)
  })

  test('keeps a message that the node refuses, and says why', async () => {
    const { page } = visitor
    const { ada, ben, owner, project } = bridge
    await open(await ada.conversationWith(ben.id))
    await owner.ok({ target: `/api/admin/projects/${project.id}/state`, body: { state: 'paused' } })
    await owner.ok({ target: `/api/admin/projects/${project.id}/state`, body: { state: 'archived' } })
    await page.getByLabel('Message').fill('too late')
    await send()
    await page.getByText('The project is archived.').waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('too late')
  })
})
