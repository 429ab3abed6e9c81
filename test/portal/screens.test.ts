/**
 * Every screen on the same data: its policy is kept, anybody can use it, nothing leaves it sideways, and it
 * looks as it did.
 *
 * `BRIDGE_LOOKS=all` checks each screen in three widths and both themes, otherwise in one width of each
 * theme.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Chromium, inChromium, startChromium } from './chromium.ts'
import { treeFaults } from './looks/ax-tree.ts'
import { accessFaults } from './looks/axe.ts'
import { sideways } from './looks/overflow.ts'
import { differenceOf, takePicture } from './looks/pictures.ts'
import { screens } from './looks/screens.ts'
import { type SteadyPage, steadyPage, steadyTexts } from './looks/steady-page.ts'
import { expectTree } from './looks/tree.ts'
import { type PortalWorld, startPortalWorld } from './world.ts'

const looks =
  process.env.BRIDGE_LOOKS === 'all'
    ? [360, 820, 1440].flatMap((width) => (['light', 'dark'] as const).map((theme) => ({ width, theme })))
    : ([
        { width: 360, theme: 'dark' },
        { width: 1440, theme: 'light' },
      ] as const)

inChromium('the screen', () => {
  let world: PortalWorld
  let chromium: Chromium
  let visitor: SteadyPage

  beforeAll(async () => {
    ;[world, chromium] = await Promise.all([startPortalWorld(), startChromium()])
    visitor = await steadyPage(chromium, world, { reducedMotion: 'reduce' })
  })
  afterAll(async () => {
    await chromium.close()
    await world.close()
  })

  const wear = async ({ width, theme }: (typeof looks)[number]) => {
    await visitor.page.emulateMedia({ colorScheme: theme })
    await visitor.page.setViewportSize({ width, height: 900 })
  }

  test('has a fault of accessibility if it is made to have one', async () => {
    const { page } = visitor
    await page.evaluate(`document.querySelector('h1').append(document.createElement('img'))`)
    expect(await accessFaults(page)).toEqual([expect.stringMatching(/^image-alt: /)])
    await page.evaluate(`document.querySelector('h1 img').style.width = '4000px'`)
    expect((await sideways(page)).length).toBeGreaterThan(0)
    await page.evaluate(`document.querySelector('h1').insertAdjacentElement('afterend', document.createElement('button'))
      .insertAdjacentElement('afterend', document.createElement('h1')).append('Two')`)
    expect(await treeFaults(page)).toEqual([
      'button without a name',
      'image without a name',
      '2 headings of the first level',
    ])
  })

  describe.each(screens)('$name', ({ name, path, isPictured = true }) => {
    beforeAll(() => visitor.open(path(world)))

    test('keeps its policy and asks nobody else', () => expect(visitor.faults).toEqual([]))

    test.each(looks)('can be used by everybody at $width pixels, $theme', async (look) => {
      await wear(look)
      expect(await accessFaults(visitor.page)).toEqual([])
      expect(await sideways(visitor.page)).toEqual([])
    })

    test.each([360, 1440])(
      'gives a screen reader names, states and landmarks at %i pixels',
      async (width) => {
        await wear({ width, theme: 'light' })
        expect(await treeFaults(visitor.page)).toEqual([])
      },
    )

    test.each([640, 320])('has everything within %i pixels, as an enlarged page has', async (width) => {
      await wear({ width, theme: 'light' })
      expect(await sideways(visitor.page)).toEqual([])
    })

    test.skipIf(!isPictured)('reads as before', async () => {
      await wear({ width: 1440, theme: 'light' })
      await visitor.page.evaluate('scrollTo(0, 0)')
      await visitor.still()
      await steadyTexts(visitor.page, world)
      await expectTree(visitor.page, name)
    })

    test.each(isPictured ? looks : [])('looks as before at $width pixels, $theme', async (look) => {
      await wear(look)
      // A conversation opens at its end, and draws only what is near.
      await visitor.page.evaluate('scrollTo(0, 0)')
      await visitor.still()
      await steadyTexts(visitor.page, world)
      const taken = await takePicture(visitor.page, look.width)
      expect(differenceOf(`${name}-${look.width}-${look.theme}`, taken)).toBe(undefined)
    })
  })
})
