/** From the link of a new node to two agents that listen and a question that the owner answers in place. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { enroll, type TestAgent } from '../support/agent.ts'
import { codeOf, ownerPassword } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { expectTree } from './looks/tree.ts'

inChromium('the first run', () => {
  let server: ServerProcess
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[server, chromium] = await Promise.all([startServerProcess(), startChromium()])
    visitor = await chromium.visitor(server.url)
  })
  afterAll(async () => {
    await chromium.close()
    await server.close()
  })

  const heading = (name: string) => visitor.page.getByRole('heading', { level: 1, name }).waitFor()
  const press = (key: string) => visitor.page.keyboard.press(key)
  const type = (text: string) => visitor.page.keyboard.type(text)
  /** Waits until the screen has put the focus into its first field. */
  const inField = () => visitor.page.locator('input:focus').waitFor()

  /** Compares what a screen reader finds, without the prompts, the times and what was announced before. */
  const reads = (name: string) =>
    expectTree(visitor.page, `first-run-${name}`, [
      [/(textbox "Prompt of \w+"): .*/g, '$1: (prompt)'],
      [/\b(\d+ (s|min) ago|(?<!Listening )now)\b/g, '(ago)'],
      [/ \(code good for (\d+ min|1 h)\)/g, ''],
      [/\b(\d+ min|\d\d:\d\d:\d\d)\b/g, '(time)'],
      [/^- status.*$/gm, '- status'],
    ])

  test('goes from the link to the prompts by keyboard', async () => {
    const { page, picture } = visitor
    await page.goto(server.setupLink)
    await heading('Set up your node')
    expect(page.url()).toBe(`${server.url}/setup`)
    await picture('set-up')
    await reads('set-up')
    await inField()
    await type('olu')
    await press('Tab')
    await type(ownerPassword)
    await press('Enter')

    await heading('Make your first project')
    await picture('project')
    await reads('project')
    const project = page.getByLabel('Name of the project')
    await project.fill('   ')
    await press('Enter')
    await page.getByText('Type a name.').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await project.fill('demo')
    await press('Enter')
    await heading('Name two agents')
    await picture('agents')
    await reads('agents')
    const second = page.getByLabel('Second agent')
    await second.fill(' ada')
    await press('Enter')
    await page.getByText('Two agents need two names.').waitFor()
    expect([await second.getAttribute('aria-invalid'), await page.getByRole('alert').count()]).toEqual([
      'true',
      0,
    ])
    await second.fill('ben\u202e')
    await press('Enter')
    await page.getByText('must not contain').waitFor()
    expect(await second.getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByLabel('First agent').getAttribute('aria-invalid')).toBe('false')
    await second.fill('ben')
    await press('Enter')
    await heading('Give each agent its prompt')
    await picture('prompts')
    await reads('prompts')
    expect(await page.getByRole('textbox').count()).toBe(2)
    const hidden = () =>
      page.evaluate<number>(
        `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('.secret'))`,
      )
    expect(await hidden()).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Show all' }).first().click()
    await expect.poll(hidden).toBe(0)
    await page.getByRole('button', { name: 'Show less' }).click()
    await expect.poll(hidden).toBeGreaterThan(0)
    expect(visitor.faults).toEqual([])
  })

  test('keeps session and code out of every place that outlives the screen', async () => {
    const { page } = visitor
    const code = codeOf(await page.getByRole('textbox').first().inputValue())
    const kept = await page.evaluate<string>(
      `JSON.stringify([document.cookie, location.href, document.title, history.state, {...localStorage}, {...sessionStorage}])`,
    )
    expect(kept).not.toContain(code)
    expect(JSON.parse(kept)[0]).toBe('')
  })

  let ada: TestAgent
  let ben: TestAgent

  test('follows each agent until it listens', async () => {
    const { page, picture } = visitor
    await page.evaluate(`
      window.announced = new Set()
      const read = () => {
        for (const each of document.querySelectorAll('[role=status], [aria-live], output'))
          announced.add(each.textContent.trim())
      }
      new MutationObserver(read).observe(document.body, { subtree: true, childList: true, characterData: true })
      read()`)
    const announced = () => page.evaluate<string[]>('[...announced]')
    const prompts = page.getByRole('textbox')
    const [first, second] = [await prompts.nth(0).inputValue(), await prompts.nth(1).inputValue()]
    ada = await enroll(server.url, codeOf(first), () => new Date())
    await page.getByText(/Enrolled, /).waitFor()
    await page.getByText('Waiting for ada to start its session').waitFor()
    await ada.startSession()
    await page.getByText(/Session started, /).waitFor()
    // The time in a line has changed by then, and nobody has heard it.
    await page.getByText(/Session started, [1-9]\d* s ago/).waitFor()
    await expect.poll(announced).toContain('An agent started its session.')
    expect(await announced()).not.toContainEqual(expect.stringMatching(/\d+ (s|min)\b/))
    ben = await enroll(server.url, codeOf(second), () => new Date())
    await ben.startSession()
    let isShown = false
    const waits = [ada, ben].map(async (agent) => {
      while (!isShown) await agent.inbox('?wait_seconds=2')
    })
    await page.getByRole('button', { name: 'Say hello as the owner' }).waitFor()
    await heading('Let your agents talk')
    for (const name of ['ada', 'ben']) await page.getByText(`${name}: Listening now`).waitFor()
    expect(await page.getByText('The code is used.').count()).toBe(0)
    await picture('listening')
    await reads('listening')
    await page.getByText('Open the project').click()
    await heading('demo')
    await picture('overview')
    isShown = true
    await Promise.all(waits)
    expect(visitor.faults).toEqual([])
  })

  test('adds an agent to the project later', async () => {
    const { page } = visitor
    await page.getByRole('link', { name: 'Add agents' }).click()
    await heading('Add agents to demo')
    await inField()
    await type('cleo')
    await press('Enter')
    await heading('Give the agent its prompt')
    expect(await page.getByRole('textbox').inputValue()).toContain(
      'You are the agent "cleo" of the project "demo".',
    )
    await page.getByText('Open the project').click()
    await heading('demo')
    await page.getByRole('rowheader', { name: 'cleo' }).waitFor()
    await page.getByText('cleo has never been here.').waitFor()
    expect(await page.getByText('has never been here').count()).toBe(1)
    const way = page.getByRole('link', { name: 'Give it its prompt' })
    expect(await way.getAttribute('href')).toMatch(/\/agents\/[0-9a-f-]{36}#enrolment$/)
  })

  test('shows a question at once, and answers it in place', async () => {
    const { page, picture } = visitor
    const conversation_id = await ben.conversationWith(ben.id)
    const question = {
      conversation_id,
      recipient_agent_id: ben.id,
      type: 'question',
      body: 'May I force-push?',
    }
    await ben.ok({ target: '/api/v1/messages', body: question })
    await page.getByText('May I force-push?').waitFor()
    await picture('question')
    await page.getByLabel('Your answer').fill('No.')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('Nothing needs you.').waitFor()
  })

  test('is offered once: a used link says that the node has its owner, and where to sign in', async () => {
    const { page } = visitor
    await page.goto(server.setupLink)
    await heading('This node has its owner already')
    await page.getByRole('link', { name: 'Open your projects' }).waitFor()
    const stranger = await chromium.visitor(server.url)
    await stranger.page.goto(server.setupLink)
    await stranger.page.getByLabel('Your name').fill('eve')
    await stranger.page.getByLabel('Password', { exact: true }).fill(ownerPassword)
    await stranger.page.getByRole('button', { name: 'Set up' }).click()
    await stranger.page.getByRole('heading', { name: 'This node has its owner already' }).waitFor()
    await stranger.page.getByRole('link', { name: 'Sign in' }).click()
    await stranger.page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await stranger.close()
  })
})
