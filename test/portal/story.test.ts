/** The story of the README on the page: the owner has a keyboard, the agents are real programs. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownerName, ownerPassword, setUpOwner, type TestOwner } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { TestHome } from '../support/test-home.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'

const readme = join(import.meta.dirname, '../../README.md')

inChromium('the story of the README', () => {
  let server: ServerProcess
  let chromium: Chromium
  let visitor: Visitor
  let home: TestHome
  let owner: TestOwner

  beforeAll(async () => {
    ;[server, chromium, home] = await Promise.all([startServerProcess(), startChromium(), TestHome.make()])
    owner = await setUpOwner(server.url, server.setupLink)
    const project = await owner.createProject('demo')
    for (const name of ['ada', 'ben']) {
      const { id } = await owner.createAgent(project.id, name)
      const stdin = await owner.enrollmentCode(project.id, id)
      await bridge(name, ['enroll', '--url', server.url], stdin)
    }
    visitor = await chromium.visitor(server.url)
    await visitor.page.addInitScript(`addEventListener('pointerdown', () => { window.touched = true }, true)`)
  })
  afterAll(async () => {
    await home.remove()
    await chromium.close()
    await server.close()
  })

  /** Runs a command of an agent, and returns its output. */
  async function bridge(profile: string, words: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await home.run(
      [...words, '--profile', profile],
      stdin === undefined ? {} : { stdin },
    )
    expect([words, code, stderr]).toEqual([words, 0, expect.anything()])
    return stdout
  }

  const press = (key: string) => visitor.page.keyboard.press(key)
  const heading = (name: string | RegExp) => visitor.page.getByRole('heading', { level: 1, name }).waitFor()
  const says = (text: string | RegExp) => visitor.page.getByText(text).first().waitFor()

  /** Presses Tab until the control with this name has the focus. */
  const tabTo = async (name: string) => {
    const focused = () =>
      visitor.page.evaluate<string>(
        `((each) => each?.ariaLabel || each?.labels?.[0]?.textContent || each?.textContent || '')(document.activeElement)`,
      )
    // The rows of a list may come late.
    for (const untilMs = performance.now() + 30_000; performance.now() < untilMs; ) {
      if ((await focused()).trim() === name) return
      await press('Tab')
    }
    throw new Error(`Tab did not reach ${name}`)
  }
  const go = async (name: string) => {
    await tabTo(name)
    await press('Enter')
  }

  test('begins with a sign-in and a first message, which is answered', async () => {
    const { page, picture } = visitor
    await bridge('ada', ['send', 'owner', 'Good morning.'])
    await page.goto(server.url)
    await heading('Sign in')
    await page.locator('input:focus').waitFor()
    await page.keyboard.type(ownerName)
    await press('Tab')
    await page.keyboard.type(ownerPassword)
    await press('Enter')
    await heading('Projects')
    await picture('1-projects')
    await go('demo')
    await heading('demo')
    await picture('2-overview')
    await says('ben has enrolled, and starts with its first session.')
    await go('1 unacknowledged message to you')
    await heading('Conversations')
    await picture('3-conversations')
    await go('ada and the owner')
    await says('Good morning.')
    await picture('4-thread')
    await go('Answer')
    await tabTo('Message')
    await page.keyboard.type('Good morning, Ada.')
    await press('Control+Enter')
    await says('Good morning, Ada.')
    await picture('5-answered')
    expect(await bridge('ada', ['listen', '--once', '--timeout', '30'])).toContain('Good morning, Ada.')
  })

  test('shows what the agents say to each other, and that it arrived', async () => {
    const { picture } = visitor
    await bridge('ben', ['session', 'start'])
    await bridge('ada', ['send', 'ben', 'Good morning, Ben.'])
    await go('Conversations')
    await heading('Conversations')
    await go('ada and ben')
    await says('Good morning, Ben.')
    await says(/^ ?stored/)
    await bridge('ben', ['listen', '--once', '--timeout', '30'])
    await bridge('ben', ['ack', 'last'])
    await says(/^ ?acknowledged/)
    await picture('6-acknowledged')
  })

  test('shows a task with its result and its evidence', async () => {
    const { picture } = visitor
    await bridge('ada', ['task', 'create', 'ben', 'Count the lines', 'of README.md'])
    await go('Tasks')
    await heading('Tasks')
    await says('Count the lines')
    await bridge('ben', ['task', 'run', '--exec', `wc -l < ${readme}`, '--once'])
    await picture('7-tasks')
    await go('Count the lines')
    await says('Completed')
    await says('exit code 0: it succeeded')
    await picture('8-task')
  })

  test('shows a file with its receipt', async () => {
    const { page, picture, faults } = visitor
    await bridge('ada', ['transfer', 'send', readme, '--to', 'ben'])
    await go('Transfers')
    await heading('Transfers')
    await go('README.md')
    await says('Offered')
    await picture('9-offered')
    await bridge('ben', ['transfer', 'list', '--role', 'recipient'])
    await bridge('ben', ['transfer', 'receive', 'last', '--output', join(home.folder, 'from-ada.md')])
    await says('Size and hash of the receipt are equal to the offer.')
    await picture('10-transfer')
    expect(await page.evaluate('window.touched')).toBeUndefined()
    expect(faults).toEqual([])
  })
})
