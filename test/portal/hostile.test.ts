/** Text of agents stays text on the owner's page, whatever it says, in every place that shows it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

/** Texts that would run, load or hide something if the page treated them as more than text. */
const hostile: readonly string[] = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg onload=alert(1)>',
  '"><iframe src="https://evil.example/">',
  "<a href='javascript:alert(1)'>x</a>",
  'javascript:alert(1)',
  '<style>body{display:none}</style>',
  '<base href="https://evil.example/">',
  '<meta http-equiv=refresh content="0;url=https://evil.example/">',
  '<form action="https://evil.example/"><input name=password autofocus></form>',
  '![x](https://evil.example/x.png)',
  '[x](javascript:alert(1))',
  '{{constructor.constructor("alert(1)")()}}',
  '$' + '{alert(1)}',
  '</p></figure></li></ol><h1>spoofed</h1>',
  '--><!--',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  'https://evil.example/?q=secret',
  '● acknowledged 1 Jan 2026',
  '```\n<b>code</b>\n```',
]

/** Texts with invisible characters, and the names that the page shows for them. */
const invisible: readonly (readonly [text: string, name: string])[] = [
  ['left\u202eright', '<U+202E>'],
  ['zero\u200bwidth', '<U+200B>'],
  ['tag\u{e0041}hidden', '<U+E0041>'],
  ['escape\u001b[2J', '<U+001B>'],
]

inChromium('hostile text', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let conversation: string

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    const { ada, ben, owner, project } = bridge
    conversation = await ada.conversationWith(ben.id)
    for (const text of [...hostile, ...invisible.map(([each]) => each)])
      await ada.send(conversation, ben.id, text)
    await ada.send(conversation, ben.id, 'w'.repeat(60_000))
    const own = await ben.conversationWith(ben.id)
    for (const body of hostile.slice(0, 4))
      await ben.ok({
        target: '/api/v1/messages',
        body: { conversation_id: own, recipient_agent_id: ben.id, type: 'question', body },
      })
    await owner.createAgent(project.id, '<img src=x onerror=alert(1)>')
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const foreign = () =>
    visitor.page.locator('img, iframe, script:not([src^="/assets/"]), base, style, figure a, figure input')

  test('is shown whole and inert in a conversation', async () => {
    const { page, picture, faults } = visitor
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/conversations/${conversation}`)
    await page.locator('figure').nth(hostile.length).waitFor()
    const shown = await page.evaluate<string[]>(
      `[...document.querySelectorAll('figure')].map((each) => each.textContent)`,
    )
    for (const [index, text] of hostile.entries())
      expect(shown[index]).toContain(text.replaceAll('```', '').trim())
    for (const [index, [, name]] of invisible.entries()) expect(shown[hostile.length + index]).toContain(name)
    expect(await foreign().count()).toBe(0)
    expect(await page.getByRole('heading', { name: 'spoofed' }).count()).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await picture('hostile')
    expect(faults).toEqual([])
  })

  test('is inert in the attention list, the agents and the activity', async () => {
    const { page, picture, faults } = visitor
    await page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    await page.locator('figure').nth(3).waitFor()
    await page.getByRole('rowheader', { name: '<img src=x onerror=alert(1)>' }).waitFor()
    expect(await foreign().count()).toBe(0)
    await picture('hostile-overview')
    expect(faults).toEqual([])
  })

  test('cannot become HTML, because the browser throws on every write of HTML text', async () => {
    const { page } = visitor
    const caught = (code: string) =>
      page.evaluate(
        `new Promise((done) => setTimeout(() => { try { ${code}; done('done') } catch (error) { done(error.name) } }))`,
      )
    expect(await caught(`document.body.innerHTML = '<b>x</b>'`)).toBe('TypeError')
    expect(await caught(`eval('1')`)).toBe('EvalError')
  })
})
