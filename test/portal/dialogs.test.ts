/** Each dialog of the page, in both themes: anybody can use it, it fits, Escape closes it, and the focus returns. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Chromium, inChromium, startChromium } from './chromium.ts'
import { accessFaults } from './looks/axe.ts'
import { sideways } from './looks/overflow.ts'
import { screens } from './looks/screens.ts'
import { type SteadyPage, steadyPage } from './looks/steady-page.ts'
import { type PortalWorld, startPortalWorld } from './world.ts'

inChromium('each dialog', () => {
  let world: PortalWorld
  let chromium: Chromium
  let visitor: SteadyPage
  const found: string[] = []

  beforeAll(async () => {
    ;[world, chromium] = await Promise.all([startPortalWorld(), startChromium()])
    visitor = await steadyPage(chromium, world)
  })
  afterAll(async () => {
    await chromium.close()
    await world.close()
  })

  /** A button with three dots opens a dialog. */
  const openers = () => visitor.page.getByRole('main').getByRole('button').filter({ hasText: /…$/ })

  const onScreens = [
    'agent',
    'pairs',
    'task-stopping',
    'tasks',
    'transfers',
    'people',
    'settings',
    'project-settings',
  ]
  test.each(screens.filter(({ name }) => onScreens.includes(name)))(
    'of the screen $name',
    async ({ path }) => {
      const { page, still } = visitor
      for (const [width, colorScheme] of [
        [360, 'dark'],
        [1440, 'light'],
      ] as const) {
        await page.setViewportSize({ width, height: 700 })
        await page.emulateMedia({ colorScheme })
        await visitor.open(path(world))
        for (let index = 0; index < Math.min(8, await openers().count()); index += 1) {
          const opener = openers().nth(index)
          const words = await opener.innerText()
          await opener.click()
          await page.locator('dialog[open]').waitFor()
          await still()
          found.push(words)
          expect([words, await accessFaults(page), await sideways(page)]).toEqual([words, [], []])
          await page.keyboard.press('Escape')
          await page.locator('dialog[open]').waitFor({ state: 'detached' })
          await expect.poll(() => page.evaluate('document.activeElement.innerText.slice(0, 80)')).toBe(words)
        }
      }
      expect(visitor.faults).toEqual([])
    },
  )

  test('was one of at least five', () => expect(new Set(found).size).toBeGreaterThanOrEqual(5))
})
