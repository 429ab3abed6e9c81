/** The focus stays where the reader is while the lists of the owner's page change under it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { act, createTask, evidence, heldBy } from '../support/tasks.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('the focus', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let root: string
  let cam: TestAgent

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    cam = await bridge.agent('cam')
    visitor = await chromium.visitor(bridge.url)
    root = `${bridge.url}/projects/${bridge.project.id}`
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const focused = () =>
    visitor.page.evaluate<string>(
      `document.activeElement.closest('a')?.textContent ?? document.activeElement.tagName`,
    )
  const column = (name: string) =>
    visitor.page.locator('section').filter({ has: visitor.page.getByRole('heading', { level: 2, name }) })

  test('stays on a task that moves to another list, so that Enter opens it', async () => {
    const { page } = visitor
    const task = await createTask(bridge.ada, bridge.ben, { title: 'Count the lines' })
    await page.goto(`${root}/tasks`)
    await column('Open').getByRole('link', { name: 'Count the lines' }).focus()
    const held = heldBy(await act(bridge.ben, task.id, 'claim'))
    await column('Held').getByRole('link', { name: 'Count the lines' }).waitFor()
    expect(await focused()).toBe('Count the lines')
    await act(bridge.ben, task.id, 'complete', { ...held, result: 'Twelve.', evidence })
    await column('Done').getByRole('link', { name: 'Count the lines' }).waitFor()
    expect(await focused()).toBe('Count the lines')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Count the lines' }).waitFor()
  })

  test('is not taken back from a reader who left the list', async () => {
    const { page } = visitor
    const task = await createTask(bridge.ada, bridge.ben, { title: 'Count the words' })
    await page.goto(`${root}/tasks`)
    await column('Open').getByRole('link', { name: 'Count the words' }).focus()
    await page.locator('header.bar').click({ position: { x: 600, y: 4 } })
    expect(await focused()).toBe('BODY')
    await act(bridge.ben, task.id, 'claim')
    await column('Held').getByRole('link', { name: 'Count the words' }).waitFor()
    expect(await focused()).toBe('BODY')
  })

  test('stays on a conversation that others overtake', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const pairs = [
      [ada, ben],
      [ben, cam],
      [ada, cam],
    ] as const
    const say = async (at: number, text: string) => {
      const [one, other] = pairs[at] as (typeof pairs)[number]
      await one.send(await one.conversationWith(other.id), other.id, text)
    }
    for (const at of pairs.keys()) await say(at, 'first')
    await page.goto(`${root}/conversations`)
    const links = page.getByRole('region', { name: 'Between agents' }).getByRole('link')
    const shows = (...names: string[]) => expect.poll(() => links.allTextContents()).toEqual(names)
    await shows('ada and cam', 'ben and cam', 'ada and ben')
    await links.nth(0).focus()
    await say(0, 'second')
    await shows('ada and ben', 'ada and cam', 'ben and cam')
    expect(await focused()).toBe('ada and cam')
    await say(1, 'second')
    await shows('ben and cam', 'ada and ben', 'ada and cam')
    expect(await focused()).toBe('ada and cam')
  })
})
