/** Answers that come late, in another order, or not at all: the page misses nothing and takes nothing away. */
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

inChromium('the page with late answers', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let home: string

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    home = `${bridge.url}/projects/${bridge.project.id}`
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const api = (end = '') => `**/api/admin/projects/${bridge.project.id}${end}`

  /** Holds requests until the returned function is called, which waits until they have gone on. */
  async function hold(
    page: Page,
    address: string,
    go: (route: Route, released: Promise<void>) => Promise<void> = async (route, released) => {
      await released
      await route.continue()
    },
  ) {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(address, (route) => go(route, released))
    return async () => {
      release()
      await page.unrouteAll({ behavior: 'wait' })
    }
  }

  test('shows a message that came between the first reading and the first sign of life', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const id = await ada.conversationWith(ben.id)
    const { id: first } = await ada.send(id, ben.id, 'before')
    await ben.acknowledge(first)
    const goOn = await hold(page, api())
    await page.goto(`${home}/conversations/${id}`)
    await page.getByText('before', { exact: true }).waitFor()
    const { id: second } = await ada.send(id, ben.id, 'between')
    await ben.acknowledge(second)
    await goOn()
    await page.getByText('between', { exact: true }).waitFor()
    await page.getByRole('status').filter({ hasText: '1 new message' }).waitFor()
    expect(visitor.faults).toEqual([])
  })

  test('keeps what is typed while a message is on its way', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const id = await ada.conversationWith(ben.id)
    await page.goto(`${home}/conversations/${id}`)
    const box = page.getByLabel('Message')
    await box.fill('the first')
    const goOn = await hold(page, api('/messages'))
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Sending…' }).waitFor()
    await box.fill('the second')
    await goOn()
    await page.locator('.message').getByText('the first', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    expect(await box.inputValue()).toBe('the second')
    await page.keyboard.press('Control+Enter')
    await page.locator('.message').getByText('the second', { exact: true }).waitFor()
    await expect.poll(() => box.inputValue()).toBe('')
    expect(visitor.faults).toEqual([])
  })
  test.each(['project', 'agent'])('keeps what is typed while the profile of the %s is saved', async (of) => {
    const { page } = visitor
    const agent = `/agents/${bridge.ben.id}`
    await page.goto(`${home}${of === 'agent' ? agent : '/settings'}`)
    const profile = page.getByRole('region', { name: 'Profile', exact: true })
    const [name, description] = [
      profile.getByLabel('Name', { exact: true }),
      profile.getByLabel('Description'),
    ]
    await description.fill('saved')
    const goOn = await hold(page, of === 'agent' ? api(`${agent}/profile`) : api('/profile'))
    await profile.getByRole('button', { name: 'Save' }).click()
    await profile.getByRole('button', { name: 'Saving…' }).waitFor()
    await name.fill(`renamed ${of}`)
    await goOn()
    await page.getByText('Saved.', { exact: true }).waitFor()
    expect(await name.inputValue()).toBe(`renamed ${of}`)
    expect(await description.inputValue()).toBe('saved')
    await profile.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: `renamed ${of}` }).waitFor()
    expect(await description.inputValue()).toBe('saved')
    expect(visitor.faults).toEqual([])
  })

  const mainLink = (name: string) => visitor.page.getByRole('main').getByRole('link', { name, exact: true })
  const section = (name: string) =>
    visitor.page.getByRole('navigation').getByRole('link', { name, exact: true })
  const button = (name: string) => visitor.page.getByRole('button', { name, exact: true })

  /** Edits the profile of ada, which is open, until the answer is there. Then saves it on the same screen. */
  async function editUntil(address: string, goOn: () => Promise<void>) {
    const { page } = visitor
    await page.getByRole('heading', { level: 1, name: 'ada' }).waitFor()
    const profile = page.getByRole('region', { name: 'Profile', exact: true })
    const words = `not lost ${address}`
    await profile.getByLabel('Description').fill(words)
    const answer = page.waitForResponse(address)
    await goOn()
    await (await answer).finished()
    await stillness(page)()
    expect(new URL(page.url()).pathname).toBe(`/projects/${bridge.project.id}/agents/${bridge.ada.id}`)
    expect(await profile.getByLabel('Description').inputValue()).toBe(words)
    await profile.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.', { exact: true }).waitFor()
    expect(visitor.faults).toEqual([])
  }

  const left = [
    {
      what: 'a first message is stored',
      address: () => api('/messages'),
      begin: async () => {
        await visitor.page.goto(`${home}/conversations`)
        await visitor.page.getByLabel('Message').fill('stored late')
        await button('Send').click()
        await button('Sending…').waitFor()
      },
    },
    {
      what: 'the conversation of a message is found',
      address: () => api('/audit?*kind=message.sent*'),
      begin: async () => {
        const { ada, ben } = bridge
        const { id } = await ada.send(await ada.conversationWith(ben.id), ben.id, 'found late')
        const asked = visitor.page.waitForRequest(api('/audit?*kind=message.sent*'))
        await visitor.page.goto(`${home}/messages/${id}`)
        await asked
      },
    },
  ]
  test.each(left)('stays where a link has led before $what', async ({ address, begin }) => {
    const goOn = await hold(visitor.page, address())
    await begin()
    await section('Agents').click()
    await mainLink('ada').click()
    await editUntil(address(), goOn)
  })

  test('stays where the back button has led before an agent is created', async () => {
    const { page } = visitor
    await page.goto(`${home}/agents/${bridge.ada.id}`)
    await section('Agents').click()
    await button('New agent').click()
    await page.getByLabel('Name', { exact: true }).fill('dora')
    const goOn = await hold(page, api('/agents'))
    await button('Create the agent').click()
    await button('Creating…').waitFor()
    await page.goBack()
    await editUntil(api('/agents'), goOn)
  })

  test('stays where the back button has led before a project is deleted', async () => {
    const { page } = visitor
    const { id } = await bridge.owner.createProject('doomed')
    await page.goto(`${home}/agents/${bridge.ada.id}`)
    await page.getByRole('link', { name: 'bridge', exact: true }).click()
    await mainLink('doomed').click()
    await mainLink('Project settings').click()
    await button('Delete…').click()
    await page.getByLabel('Type its name to confirm').fill('doomed')
    const address = `**/api/admin/projects/${id}/delete`
    const goOn = await hold(page, address)
    await button('Delete the project').click()
    await button('Deleting…').waitFor()
    await page.evaluate('history.go(-3)')
    await editUntil(address, goOn)
  })

  test('leaves the focus to a reader who has gone on before the screen is there', async () => {
    const { page } = visitor
    await page.goto(`${home}/tasks`)
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor()
    const id = await bridge.ada.conversationWith(bridge.ben.id)
    const focused = () => page.evaluate<string>('document.activeElement?.textContent')
    await page.getByRole('link', { name: 'Conversations' }).first().click()
    const link = page.locator(`a[href$="${id}"]`)
    await link.focus()
    const goOn = await hold(page, api(`/conversations/${id}`))
    await page.keyboard.press('Enter')
    await link.waitFor({ state: 'detached' })
    for (let tries = 0; tries < 20 && (await focused()) !== 'Transfers'; tries += 1)
      await page.keyboard.press('Tab')
    await goOn()
    await page.getByRole('heading', { level: 1, name: /^ada and / }).waitFor()
    // The heading names the tab after it has taken the focus.
    await expect.poll(() => page.title()).toMatch(/Conversation · bridge$/)
    expect(await focused()).toBe('Transfers')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Transfers' }).waitFor()
    await expect.poll(focused).toBe('Transfers')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
    expect(visitor.faults).toEqual([])
  })

  test('shows the person who signed in elsewhere while it asked who is signed in', async () => {
    const { page, faults, close } = await chromium.visitor(bridge.url)
    const other = await page.context().newPage()
    await other.goto(`${bridge.url}/sign-in`)
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const goOn = await hold(page, '**/api/admin/session', async (route, released) => {
      const response = await route.fetch()
      asked()
      await released
      await route.fulfill({ response })
    })
    await page.goto(`${bridge.url}/settings`)
    await isAsked
    await signIn(other, bridge.url)
    await goOn()
    await page.getByText('Owner of the node').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('keeps the count of new records while it counts again', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const id = await ada.conversationWith(ben.id)
    await page.goto(`${home}/audit`)
    await page.locator('.records > li').first().waitFor()
    await ada.send(id, ben.id, 'one record')
    const count = page.getByRole('button', { name: / new ↑$/ })
    await page.getByRole('button', { name: '1 new ↑' }).focus()
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const goOn = await hold(page, '**/audit?*order=oldest_first*', async (route, released) => {
      asked()
      await released
      await route.continue()
    })
    await ada.send(id, ben.id, 'another record')
    await isAsked
    expect(await count.count()).toBe(1)
    await goOn()
    await page.getByRole('button', { name: '2 new ↑' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => count.count()).toBe(0)
    expect(visitor.faults).toEqual([])
  })

  test.each(['the button', 'the keyboard'])(
    'keeps a dialog that acts, begun with %s, through a second Escape, and shows its refusal',
    async (way) => {
      const { page } = visitor
      await page.goto(`${home}/agents`)
      await button('New agent').click()
      const dialog = page.getByRole('dialog', { name: 'New agent' })
      const name = dialog.getByLabel('Name', { exact: true })
      await name.fill('ada')
      const goOn = await hold(page, api('/agents'))
      // A press on the page alone goes nowhere if another page of this browser takes the focus meanwhile.
      if (way === 'the button') await button('Create the agent').click()
      else await name.press('Enter')
      await button('Creating…').waitFor()
      for (let times = 0; times < 4; times += 1) await page.keyboard.press('Escape')
      await goOn()
      await dialog.getByText('The name is taken. Choose another.').waitFor()
      await expect
        .poll(() => page.evaluate(`document.querySelector('dialog').contains(document.activeElement)`))
        .toBe(true)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await button('New agent').and(page.locator(':focus')).waitFor()
      await page.keyboard.press('Enter')
      await dialog.waitFor()
      expect(visitor.faults).toEqual([])
    },
  )

  /** Loses the answers to messages of the owner, which reach the node, until the returned function is called. */
  async function loseAnswers(page: Page) {
    await page.route(api('/messages'), async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    })
    return async () => {
      await page.unroute(api('/messages'))
      visitor.faults.length = 0
    }
  }

  const earlier = 'An earlier text of yours arrived, and is stored. Send again to send this one too.'

  test('acknowledges a question whose answer was changed after the node had stored it', async () => {
    const { page } = visitor
    const { ada } = bridge
    const conversation_id = await ada.conversationWith(ada.id)
    const question = { conversation_id, recipient_agent_id: ada.id, type: 'question', body: 'Which branch?' }
    const { message } = await ada.ok<{ message: { id: string } }>({
      target: '/api/v1/messages',
      body: question,
    })
    const still = stillness(page)
    await page.goto(home)
    // The page does not hear that the question has its answer.
    await page.getByText('Which branch?', { exact: true }).waitFor()
    await still()
    const goOn = await hold(page, api())
    const item = page.getByRole('listitem').filter({ hasText: 'Which branch?' })
    const answer = async (text: string) => {
      await item.getByLabel('Your answer').fill(text)
      await item.getByRole('button', { name: 'Answer', exact: true }).click()
    }
    const hear = await loseAnswers(page)
    await answer('main')
    await item.getByText('The node does not answer.').waitFor()
    await hear()
    await answer('main, then next')
    await item.getByText(earlier).waitFor()
    await answer('main, then next')
    await page.getByText('Answered.', { exact: true }).waitFor()
    await goOn()
    await item.getByLabel('Your answer').waitFor({ state: 'detached' })
    const waiting = await bridge.owner.ok<{ messages: { id: string }[] }>({
      target: `/api/admin/projects/${bridge.project.id}/inbox`,
    })
    expect(waiting.messages.map(({ id }) => id)).not.toContain(message.id)
    const { messages } = await ada.inbox()
    const answers = messages.map(({ body }) => body).filter((body) => body.startsWith('main'))
    expect(answers).toEqual(['main', 'main, then next'])
    expect(visitor.faults).toEqual([])
  })

  test('warns before a second message if its earlier text is stored, also after another screen', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const id = await ada.conversationWith(ben.id)
    await page.goto(`${home}/conversations/${id}`)
    const box = page.getByLabel('Message')
    const hear = await loseAnswers(page)
    await box.fill('stored')
    await button('Send').click()
    await page.getByText('it takes effect once.').waitFor()
    await section('Tasks').click()
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor()
    await hear()
    await page.goBack()
    await box.fill('stored, and more')
    await button('Send').click()
    await page.getByText(earlier).waitFor()
    expect(await page.locator('.message').getByText('stored, and more', { exact: true }).count()).toBe(0)
    await button('Send').click()
    await page.locator('.message').getByText('stored, and more', { exact: true }).waitFor()
    await expect.poll(() => box.inputValue()).toBe('')
    expect(visitor.faults).toEqual([])
  })

  test('reads the conversations once for all messages that came while a reading was late', async () => {
    const { page } = visitor
    const { ada } = bridge
    const own = await ada.conversationWith(ada.id)
    let requests = 0
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname === `/api/admin/projects/${bridge.project.id}/conversations`) requests += 1
    })
    const goOn = await hold(page, api('/conversations?*'))
    await page.goto(`${home}/conversations`)
    for (let number = 1; number <= 5; number += 1) {
      await ada.send(own, ada.id, `to you ${number}`)
      await page.getByTitle(new RegExp(`^${number} unacknowledged`)).waitFor()
    }
    await goOn()
    const row = page.locator('[data-row]', { hasText: 'ada and the owner' })
    await row.getByText('5 unacknowledged', { exact: true }).waitFor()
    await ada.send(own, ada.id, 'to you 6')
    await row.getByText('6 unacknowledged', { exact: true }).waitFor()
    expect(requests).toBe(3)
    expect(visitor.faults).toEqual([])
  })
})
