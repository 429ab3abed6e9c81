/** A conversation while the node stops, goes on, and starts again: nothing is lost and nothing jumps. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { enroll, type TestAgent } from '../support/agent.ts'
import { dropConnections } from '../support/http.ts'
import { setUpOwner, type TestOwner } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

const notNow = { error: 'not_found', message: 'Not now.', request_id: 'r', retryable: false, details: {} }
const silence = /^Nothing heard from the node since/

inChromium('a conversation while the node is away', () => {
  let server: ServerProcess
  let chromium: Chromium
  let visitor: Visitor
  let owner: TestOwner
  let project: { id: string }
  let agent: (name: string) => Promise<TestAgent>
  let ada: TestAgent
  let ben: TestAgent
  let conversation: string

  beforeAll(async () => {
    ;[server, chromium] = await Promise.all([startServerProcess(), startChromium()])
    owner = await setUpOwner(server.url, server.setupLink)
    project = await owner.createProject('demo', { policy: { message_budget: 1000 } })
    agent = async (name: string) => {
      const { id } = await owner.createAgent(project.id, name)
      const code = await owner.enrollmentCode(project.id, id)
      const enrolled = await enroll(server.url, code, () => new Date())
      await enrolled.startSession()
      return enrolled
    }
    ada = await agent('ada')
    ben = await agent('ben')
    conversation = await ada.conversationWith(ben.id)
    for (let number = 1; number <= 60; number += 1) await ada.send(conversation, ben.id, `number ${number}`)
    visitor = await chromium.visitor(server.url)
    await visitor.page.clock.install()
    await signIn(visitor.page, server.url, `/projects/${project.id}/conversations/${conversation}`)
    await visitor.page.getByText('number 60', { exact: true }).waitFor()
    // The silence is measured from the first snapshot.
    await visitor.page.locator('.where').getByText('demo').waitFor()
  })
  afterAll(async () => {
    await chromium.close()
    await server.close()
  })

  const box = () => visitor.page.getByRole('textbox', { name: 'Message' })
  const top = () =>
    visitor.page.evaluate<number>(`document.querySelector('[data-number="30"]').getBoundingClientRect().top`)
  const shows = (text: string) =>
    expect
      .poll(async () => {
        await visitor.page.clock.runFor(1000)
        return visitor.page.getByText(text, { exact: true }).count()
      })
      .toBe(1)

  test('keeps its messages, the place of the reader and what was written', async () => {
    const { page } = visitor
    await box().fill('half a sentence')
    await page.locator('[data-number="30"]').scrollIntoViewIfNeeded()
    await page.clock.runFor(100)
    const before = await top()
    process.kill(server.pid, 'SIGSTOP')
    try {
      await page.clock.runFor(10_000)
      await page.getByText(silence).waitFor()
      await page.clock.runFor(25_000)
      await page.getByText('Unavailable').first().waitFor()
      expect(await page.locator('.message').count()).toBe(60)
    } finally {
      process.kill(server.pid, 'SIGCONT')
    }
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        // The presence and the line about the silence go one after the other.
        return (await page.getByText('Unavailable').count()) + (await page.getByText(silence).count())
      })
      .toBe(0)
    expect(await box().inputValue()).toBe('half a sentence')
    // The line about the silence came and went above the messages.
    expect(Math.abs((await top()) - before)).toBeLessThan(5)
    expect(visitor.faults).toEqual([])
  })

  test('misses no message of a node that was killed and started again', async () => {
    const { page } = visitor
    await server.kill('SIGKILL')
    await page.clock.runFor(3000)
    dropConnections(server.url)
    await server.start()
    await ada.send(conversation, ben.id, 'after the restart')
    await page.getByRole('textbox', { name: 'Message' }).scrollIntoViewIfNeeded()
    await shows('after the restart')
    expect(await box().inputValue()).toBe('half a sentence')
  })

  /** Leaves the conversation. Counts its requests from now on, and notes the queries of those for its messages. */
  const asked = async () => {
    const all = { conversation: 0, messages: [] as string[] }
    const { page } = visitor
    await page.goto(`${server.url}/settings`)
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (pathname.endsWith(`/api/admin/projects/${project.id}/conversations/${conversation}`))
        all.conversation += 1
      if (pathname.endsWith(`/${conversation}/messages`)) all.messages.push(search)
    })
    return all
  }
  const itself = () => `**/api/admin/projects/${project.id}/conversations/${conversation}`

  test('begins again with its latest messages if its first reading was refused', async () => {
    const { page } = visitor
    const requests = await asked()
    const faults = [...visitor.faults]
    await page.route(itself(), (route) => route.fulfill({ status: 404, json: notNow }))
    await page.goto(`${server.url}/projects/${project.id}/conversations/${conversation}`)
    const refused = page.getByRole('heading', { level: 1, name: 'Conversation', exact: true })
    await refused.waitFor()
    await ada.send(conversation, ben.id, 'after the refusal')
    const shown = new Set<number>()
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        shown.add(await refused.count())
        return requests.conversation
      })
      .toBeGreaterThan(4)
    expect(requests.messages).toEqual([])
    expect([...shown]).toEqual([1])
    await page.unroute(itself())
    await shows('after the refusal')
    expect(requests.messages[0]).toBe('')
    expect(visitor.faults).toEqual(faults)
  })

  test('reads a new message again whose first reading failed, though no other message waits', async () => {
    const { page } = visitor
    const faults = [...visitor.faults]
    const cleo = await agent('cleo')
    const other = await ada.conversationWith(cleo.id)
    const { id } = await ada.send(other, cleo.id, 'acknowledged')
    await cleo.ok({ target: '/api/v1/acknowledgements', body: { message_ids: [id] } })
    await page.goto(`${server.url}/projects/${project.id}/conversations/${other}`)
    await shows('acknowledged')
    // The page knows the records up to here.
    await page.clock.runFor(5000)
    let failures = 0
    const messages = `**/${other}/messages?*`
    await page.route(messages, (route) => {
      failures += 1
      return failures === 1 ? route.fulfill({ status: 404, json: notNow }) : route.continue()
    })
    await ada.send(other, cleo.id, 'read again')
    await shows('read again')
    expect(failures).toBeGreaterThan(1)
    await page.unroute(messages)
    expect(visitor.faults).toEqual(faults)
  })

  test('begins once if its first reading is late', async () => {
    const { page } = visitor
    const requests = await asked()
    const faults = [...visitor.faults]
    const isLate = Promise.withResolvers<void>()
    await page.route(itself(), async (route) => {
      await isLate.promise
      await route.continue()
    })
    const isAsked = page.waitForRequest(itself())
    await page.goto(`${server.url}/projects/${project.id}/conversations/${conversation}`)
    await isAsked
    await page.clock.runFor(21_000)
    isLate.resolve()
    await shows('after the refusal')
    await page.unroute(itself())
    await ada.send(conversation, ben.id, 'after the delay')
    await shows('after the delay')
    expect(requests.conversation).toBe(1)
    expect(visitor.faults).toEqual(faults)
  })
})
