/** Contrast of the colours of the owner's page, computed from its tokens, in both themes. WCAG 1.4.3, 1.4.11. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const folder = join(import.meta.dirname, '../../../server/portal/page/style')
const sources = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith('.css'))
    .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
)
const tokens = sources.get('tokens.css') ?? ''

/** The two values of each token, in the order in which `light-dark()` names them. */
const valuesIn = (css: string) =>
  new Map(
    [...css.matchAll(/--([a-z-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)/g)].map(
      ([, name = '', light = '', dark = '']) => [name, { light, dark }],
    ),
  )

const more = tokens.slice(tokens.indexOf('@media (prefers-contrast: more)'))
const normal = valuesIn(tokens.slice(0, tokens.length - more.length))
const palettes = [
  ['as they are', normal],
  ['with more contrast', new Map([...normal, ...valuesIn(more)])],
] as const

const texts: readonly (readonly [text: string, grounds: readonly string[]])[] = [
  ['text', ['page', 'surface', 'sunken', 'warning-ground', 'bad-ground']],
  ['muted', ['page', 'surface', 'sunken']],
  ['accent', ['page', 'surface']],
  ['on-accent', ['accent']],
  ['good', ['page', 'surface']],
  ['info', ['page', 'surface']],
  ['warning', ['page', 'surface', 'warning-ground']],
  ['bad', ['page', 'surface', 'bad-ground']],
]
const controls: typeof texts = [
  ['control', ['page', 'surface']],
  ['accent', ['page', 'surface', 'sunken', 'warning-ground', 'bad-ground']],
]

/** Relative luminance of WCAG. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

test('contrast is computed as WCAG says', () => {
  expect(contrast('#000000', '#ffffff')).toBe(21)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
})

describe.each(palettes)('the colours %s', (_name, palette) => {
  describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
    const colourOf = (name: string): string => {
      const value = palette.get(name)?.[theme]
      if (value === undefined) throw new Error(`no token --${name}`)
      return value
    }
    test.each(texts)('--%s can be read', (text, grounds) => {
      for (const ground of grounds)
        expect([ground, contrast(colourOf(text), colourOf(ground)) >= 4.5]).toEqual([ground, true])
    })
    test.each(controls)('--%s can be seen at the edge of a control', (edge, grounds) => {
      for (const ground of grounds)
        expect([ground, contrast(colourOf(edge), colourOf(ground)) >= 3]).toEqual([ground, true])
    })
  })
})

test('no other style file has a colour of its own', () => {
  for (const [name, css] of sources)
    if (name !== 'tokens.css')
      expect([name, css.match(/#[0-9a-f]{3,8}\b|\b(rgb|hsl|oklch)a?\(/g)]).toEqual([name, null])
})
