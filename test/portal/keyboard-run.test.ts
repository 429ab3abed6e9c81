/** The first run with the keyboard alone, from the printed link to two agents that answered: real programs. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeOf, ownerPassword } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { TestHome } from '../support/test-home.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'

/** A line of `listen --json`. */
interface Line {
  readonly id: string
  readonly type: string
  readonly body: string
}

inChromium('the first run by keyboard', () => {
  let server: ServerProcess
  let chromium: Chromium
  let visitor: Visitor
  let home: TestHome

  beforeAll(async () => {
    ;[server, chromium, home] = await Promise.all([startServerProcess(), startChromium(), TestHome.make()])
    visitor = await chromium.visitor(server.url)
    const { page } = visitor
    // A browser may refuse the clipboard. The page then has to help itself.
    await page.addInitScript(`
      addEventListener('pointerdown', () => { window.touched = true }, true)
      Object.defineProperty(navigator.clipboard, 'writeText', {
        value: () => Promise.reject(new DOMException('refused', 'NotAllowedError')),
      })`)
  })
  afterAll(async () => {
    await home.remove()
    await chromium.close()
    await server.close()
  })

  /** Time of a key, as a person presses it. */
  const delay = 80
  const press = (key: string) => visitor.page.keyboard.press(key, { delay })
  const type = (text: string) => visitor.page.keyboard.type(text, { delay })
  /** Waits until the screen has put the focus into its first field. */
  const inField = () => visitor.page.locator('input:focus').waitFor()
  const heading = (name: string) => visitor.page.getByRole('heading', { level: 1, name }).waitFor()

  /** Presses Tab until the control with these words has the focus. */
  const tabTo = async (words: string) => {
    const focused = () =>
      visitor.page.evaluate<string>(
        `document.activeElement?.textContent || document.activeElement?.ariaLabel || ''`,
      )
    for (let tries = 0; tries < 80; tries += 1) {
      if ((await focused()) === words) return
      await press('Tab')
    }
    throw new Error(`Tab did not reach ${words}`)
  }
  const selection = () =>
    visitor.page.evaluate<string>(
      `(({ value, selectionStart, selectionEnd }) => value?.slice(selectionStart, selectionEnd) ?? '')(document.activeElement)`,
    )
  const copied = async (name: string): Promise<string> => {
    await tabTo(`Copy ${name}'s prompt`)
    await press('Enter')
    // The browser refuses the clipboard first.
    await expect.poll(selection).toContain(`the agent "${name}"`)
    await visitor.page.getByRole('region', { name }).getByText('Selected: press Ctrl+C').waitFor()
    return selection()
  }

  /** An agent as its program runs it: enrols with the code and listens. */
  const listen = async (name: string, prompt: string) => {
    const { code, stderr } = await home.run(['enroll', '--url', server.url, '--profile', name], {
      stdin: codeOf(prompt),
    })
    expect([code, stderr]).toEqual([0, expect.anything()])
    const listening = home.start(['listen', '--json', '--profile', name])
    const message = async (pattern: RegExp): Promise<Line> => {
      const lines = await listening.printed(pattern)
      return JSON.parse(lines.split('\n').find((line) => pattern.test(line)) ?? '')
    }
    const run = async (...args: string[]) => {
      const ended = await home.run([...args, '--profile', name])
      expect([args[0], ended.code, ended.stderr]).toEqual([args[0], 0, expect.anything()])
    }
    return { listening, message, run }
  }

  test('ends with an answer, and selects the prompt if the clipboard is refused', async () => {
    const { page, picture, faults } = visitor
    const begun = performance.now()
    await page.goto(server.setupLink)
    await heading('Set up your node')
    await inField()
    await type('olu')
    await press('Tab')
    await type(ownerPassword)
    await press('Enter')
    await heading('Make your first project')
    await inField()
    await press('Enter')
    await heading('Name two agents')
    await inField()
    await press('Enter')
    await heading('Give each agent its prompt')
    const ada = await listen('ada', await copied('ada'))
    const ben = await listen('ben', await copied('ben'))

    await page.getByRole('button', { name: 'Say hello as the owner' }).waitFor()
    await tabTo('Say hello as the owner')
    await press('Enter')
    await page.getByText('Ask ben what two and two is, and tell me.', { exact: true }).waitFor()
    const hello = await ada.message(/two and two is/)
    await page.getByText(/^ ?offered/).waitFor()
    await ada.run('ack', hello.id)
    await page.getByText(/^ ?acknowledged/).waitFor()
    await ada.run('send', 'ben', 'How much is two and two?', '--type', 'question')
    const question = await ben.message(/How much/)
    await ben.run('reply', question.id, 'Four.')
    await ada.message(/Four/)
    await ada.run('reply', hello.id, 'ben says: four.')
    await page.getByText('ben says: four.', { exact: true }).waitFor()
    await picture('talk')
    expect(performance.now() - begun).toBeLessThan(120_000)
    await tabTo('That was it: open the project')
    await press('Enter')
    await heading('demo')
    expect(await page.evaluate('window.touched')).toBeUndefined()
    expect(faults).toEqual([])
    for (const { listening } of [ada, ben]) listening.child.kill('SIGTERM')
    await Promise.all([ada, ben].map(({ listening }) => listening.ended))
  })
})
