/**
 * The owner's page for people who enlarge it, use a keyboard, choose their colours or cannot tell colours apart, and
 * with very much or nothing to show. WCAG 1.4.1, 1.4.10, 2.4.3, 2.4.11; `screens.test.ts` has axe.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Chromium, inChromium, startChromium } from './chromium.ts'
import { accessFaults } from './looks/axe.ts'
import { sideways } from './looks/overflow.ts'
import { screens } from './looks/screens.ts'
import { type SteadyPage, steadyPage } from './looks/steady-page.ts'
import { type PortalWorld, startPortalWorld } from './world.ts'

/** Runs in the page: the element with the focus if another one lies over all of its corners and its middle. */
const covered = `(() => {
  const each = document.activeElement
  if (each === document.body) return null
  const { left, right, top, bottom } = each.getBoundingClientRect()
  const points = [[left + 2, top + 2], [right - 2, top + 2], [left + 2, bottom - 2], [right - 2, bottom - 2], [(left + right) / 2, (top + bottom) / 2]]
  const isSeen = points.some(([x, y]) => {
    const over = document.elementFromPoint(x, y)
    return over !== null && (each.contains(over) || over.contains(each) || over.closest('label')?.control === each)
  })
  return isSeen ? null : each.outerHTML.slice(0, 120)
})()`

/** Runs in the page: marks without a word beside them, and words that two different marks of a list share. */
const wordless = `[...document.querySelectorAll('svg.mark')].filter((each) => {
  let around = each.parentElement
  while (around.textContent.trim() === '' && around.getAttribute('aria-label') === null && around !== document.body)
    around = around.parentElement
  return each.getAttribute('aria-hidden') !== 'true' || around.closest('li, tr, p, dd, div, section') === null || around === document.body
}).map((each) => each.parentElement.outerHTML.slice(0, 120))`

inChromium('the page', () => {
  let world: PortalWorld
  let chromium: Chromium
  let visitor: SteadyPage

  beforeAll(async () => {
    ;[world, chromium] = await Promise.all([startPortalWorld(), startChromium()])
    visitor = await steadyPage(chromium, world)
  })
  afterAll(async () => {
    await chromium.close()
    await world.close()
  })

  const pathOf = (name: string): string => {
    const screen = screens.find((each) => each.name === name)
    if (screen === undefined) throw new Error(`no screen ${name}`)
    return screen.path(world)
  }

  describe.each([360, 1440])('at %i pixels', (width) => {
    test.each(['overview', 'agent', 'conversation', 'tasks', 'audit', 'settings'])(
      'shows each focus of the screen %s, also below the header',
      async (name) => {
        const { page } = visitor
        await page.setViewportSize({ width, height: 500 })
        await visitor.open(pathOf(name))
        for (const key of ['Tab', 'Shift+Tab'])
          for (let press = 0; press < 40; press += 1) {
            await page.keyboard.press(key)
            expect(await page.evaluate(covered)).toBe(null)
          }
      },
    )
  })

  test('tells each state by a word beside its mark', async () => {
    await visitor.page.setViewportSize({ width: 1440, height: 900 })
    let marks = 0
    for (const { path } of screens) {
      await visitor.open(path(world))
      expect(await visitor.page.evaluate(wordless)).toEqual([])
      marks += await visitor.page.locator('svg.mark').count()
    }
    expect(marks).toBeGreaterThan(20)
  })

  test('tells the states of agents by their words in one column', async () => {
    await visitor.open(pathOf('overview'))
    const row = (name: string) => visitor.page.getByRole('row').filter({ hasText: name }).first().innerText()
    expect(await row('ada')).toMatch(/Listening now/)
    expect(await row('ben')).toMatch(/After current work step/)
    expect(await row('dan')).toMatch(/Overdue, by 16 min/)
  })

  test('keeps edges, marks and focus where the browser chooses all colours', async () => {
    const { page } = visitor
    await page.emulateMedia({ forcedColors: 'active', contrast: 'more', reducedMotion: 'reduce' })
    await visitor.open(pathOf('overview'))
    const seen = await page.evaluate<Record<string, boolean>>(`(() => {
      const style = (each) => getComputedStyle(each)
      const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility())
      const ground = style(document.body).backgroundColor
      document.querySelector('main a').focus()
      return {
        edges: all('button, textarea, input, select').every((each) => style(each).borderTopStyle !== 'none'),
        marks: all('.mark').every((each) => ![style(each).fill, style(each).stroke].every((paint) => paint === 'none' || paint === ground)),
        current: all('[aria-current=page]').every((each) => style(each).outlineStyle !== 'none'),
        still: all('*').every((each) => style(each).animationName === 'none' && /^(0s|all)?(, 0s)*$/.test(style(each).transitionDuration)),
      }
    })()`)
    expect(seen).toEqual({ edges: true, marks: true, current: true, still: true })
    expect(await accessFaults(page)).toEqual([])
    await page.emulateMedia({ forcedColors: null, contrast: null, reducedMotion: null })
  })

  test('has room for 300 agents, and shows a project without anything', async () => {
    const { owner } = world
    const full = await owner.createProject('Three hundred')
    for (let index = 0; index < 300; index += 1)
      await owner.createAgent(
        full.id,
        `agent ${index} ${'mit langem Namen '.repeat(index % 5)}`.slice(0, 79).trim(),
      )
    const empty = await owner.createProject('Empty')
    for (const { id } of [full, empty])
      for (const section of ['', '/agents', '/pairs', '/conversations', '/tasks', '/transfers', '/audit']) {
        await visitor.open(`/projects/${id}${section}`)
        for (const width of [360, 1440]) {
          await visitor.page.setViewportSize({ width, height: 900 })
          expect([section, width, await sideways(visitor.page)]).toEqual([section, width, []])
        }
      }
    expect(visitor.faults).toEqual([])
  })
})
