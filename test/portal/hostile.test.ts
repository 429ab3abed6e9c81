/** Text of agents stays text on the owner's page, whatever it says, in every place that shows it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { act, createTask, heldBy } from '../support/tasks.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { hostileBodies, hostileLines, invisible } from './hostile/corpus.ts'
import { type Filled, fill } from './hostile/fill.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

/** Runs in the page: elements that no screen has, with their beginning. */
const strangers = `[...document.querySelectorAll('*')].filter((each) =>
  each.matches('img, iframe, object, embed, video, audio, base, style, template, math, marquee, form[action], [srcdoc], figure[style], figure [style]') ||
  each.matches('script:not([src^="/assets/"]), link:not([href^="/assets/"]), meta[http-equiv]') ||
  each.matches('figure a, figure input, figure form, svg a, svg animate') ||
  [...each.attributes].some(({ name, value }) => name.startsWith('on') ||
    (/^(href|src|action|formaction|data|xlink:href)$/.test(name) && /^\\s*(javascript|data|vbscript):/i.test(value))) ||
  (each.localName === 'a' && each.origin !== location.origin)
).map((each) => each.outerHTML.slice(0, 120))`

inChromium('hostile text', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let filled: Filled
  let still: () => Promise<void>

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    filled = await fill(bridge)
    visitor = await chromium.visitor(bridge.url)
    still = stillness(visitor.page)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const open = async (path: string) => {
    await visitor.page.goto(`${bridge.url}${path}`)
    await still()
  }
  const inert = async () => {
    expect(await visitor.page.evaluate(strangers)).toEqual([])
    expect(await visitor.page.getByRole('heading', { name: 'spoofed', exact: true }).count()).toBe(0)
    expect(await visitor.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(visitor.faults).toEqual([])
  }

  test('has 60 forms', () => expect(hostileLines.length + hostileBodies.length).toBe(60))

  test('is shown whole and inert in a conversation', async () => {
    const { page, picture } = visitor
    await open(`/projects/${filled.project}/conversations/${filled.conversation}`)
    const texts = [...hostileLines, ...hostileBodies.slice(0, 2)].map((text) =>
      text.replaceAll('```', '').trim(),
    )
    const wanted = [...texts, ...invisible.map(([, name]) => name)]
    const shown = new Set<string>()
    // A long conversation draws only what is near, so the test reads it upwards.
    const missing = async () => {
      for (const each of await page.evaluate<string[]>(
        `[...document.querySelectorAll('figure')].map((each) => each.textContent)`,
      ))
        shown.add(each)
      await page.evaluate('scrollBy(0, -innerHeight)')
      return wanted.filter((text) => ![...shown].some((each) => each.includes(text)))
    }
    await expect.poll(missing).toEqual([])
    await inert()
    await picture('hostile')
  })

  test('is inert in the attention list, the agents and the activity', async () => {
    const { page, picture } = visitor
    await open(`/projects/${filled.project}`)
    await page.locator('figure').nth(3).waitFor()
    await page
      .getByRole('rowheader', { name: hostileLines[0] ?? '' })
      .first()
      .waitFor()
    await inert()
    await picture('hostile-overview')
  })

  const sections = [
    'agents',
    'pairs',
    'conversations',
    'tasks',
    'tasks?view=table',
    'transfers',
    'audit',
    'settings',
  ]
  test.each(sections)('is inert in the list of %s', async (section) => {
    await open(`/projects/${filled.project}/${section}`)
    await inert()
  })

  test.each(['/', '/audit', '/people', '/node', '/settings'])('is inert at %s', async (path) => {
    await open(path)
    await inert()
  })

  test('is inert on the screens of one agent, conversation, task or transfer', async () => {
    for (const path of filled.details) {
      await open(path)
      await inert()
    }
  })

  test('with thousands of invisible characters is shown by name, and most of them without a chip', async () => {
    const { ada, ben, clock } = bridge
    const { page } = visitor
    clock.advance(601)
    const { sequence } = await ada.send(filled.conversation, ben.id, `${'a\u200b'.repeat(16_000)}the end`)
    await open(`/projects/${filled.project}/conversations/${filled.conversation}?at=${sequence}`)
    const message = page.locator(`[data-number="${sequence}"]`)
    await message.getByText('16000 invisible characters shown').waitFor()
    await message.getByRole('button', { name: /^Show all/ }).click()
    await message.getByText(/a<U\+200B>the end$/).waitFor()
    expect(await message.locator('.chip').count()).toBe(500)
  })

  test('that is evidence is copied as it is, and a note tells of what is invisible in it', async () => {
    const { ada, ben } = bridge
    const { page } = visitor
    const { id } = await createTask(ada, ben, { title: 'evidence', instructions: 'x' })
    const held = heldBy(await act(ben, id, 'claim', {}))
    const evidence = [{ kind: 'command', value: 'rm -rf build\u200b\u202e', exit_code: 0 }]
    await act(ben, id, 'complete', { ...held, result: 'done', evidence })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await open(`/projects/${filled.project}/tasks/${id}`)
    // All files of the run share one clipboard.
    await expect
      .poll(async () => {
        await page.locator('.evidence button').click()
        await page.getByText('Copied, with 2 invisible characters.').waitFor()
        return page.evaluate('navigator.clipboard.readText()')
      })
      .toBe('rm -rf build\u200b\u202e')
  })

  test('of a lone surrogate is refused by the node', async () => {
    const { ada, ben } = bridge
    const fields = { conversation_id: filled.conversation, recipient_agent_id: ben.id, type: 'note' }
    const body = JSON.stringify({ ...fields, body: '?' }).replace('?', '\\ud800')
    expect((await ada.call({ target: '/api/v1/messages', body })).status).toBe(422)
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
