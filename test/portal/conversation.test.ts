/** Conversations on the owner's page: reading, writing as the owner, acknowledging. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('a conversation', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
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

  test('acknowledges messages to the owner with one button, and not by reading', async () => {
    const { ada, owner, project } = bridge
    const { page } = visitor
    const own = await ada.conversationWith(ada.id)
    for (const text of ['one', 'two']) await ada.send(own, ada.id, text)
    await open(own)
    const waiting = () =>
      owner.ok<{ messages: unknown[] }>({ target: `/api/admin/projects/${project.id}/inbox` })
    expect((await waiting()).messages).toHaveLength(2)
    await page.getByRole('button', { name: 'Acknowledge all 2 to you' }).click()
    await page.getByRole('button', { name: /^Acknowledge/ }).waitFor({ state: 'detached' })
    expect((await waiting()).messages).toHaveLength(0)
  })

  test('opens at its end, shows 100 messages, and older ones on demand', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const id = await ben.conversationWith(ada.id)
    for (let number = 1; number <= 110; number += 1) {
      await ben.send(id, ada.id, `number ${number}`)
      // The loop guard allows 60 messages in 10 minutes.
      if (number % 50 === 0) bridge.clock.advance(601)
    }
    await open(id)
    await page.getByText('number 110', { exact: true }).waitFor()
    expect(await count('number 1')).toBe(0)
    await page.getByRole('button', { name: 'Show older messages' }).click()
    await page.getByText('number 1', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Show older messages' }).count()).toBe(0)
    expect(visitor.faults).toEqual([])
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
