/**
 * Compares pictures of the page with those in `test/portal/pictures`.
 *
 * `npm run test:page:pictures` writes them anew. A picture has few colours, so a pixel counts as different only
 * if no pixel beside it has about its colour in the other picture.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { colourAt, distance, type Picture, readPng, writePng } from './png.ts'

const folder = join(import.meta.dirname, '../pictures')
/** The pages of the documentation show the top of these. */
const inDocs = ['overview', 'agent', 'conversation', 'tasks', 'task', 'audit'].map(
  (name) => `${name}-1440-light`,
)
const docs = join(import.meta.dirname, '../../../docs/pictures')
const failures = 'coverage/pictures'

/** Difference of a channel that few colours and another rasterizer may cause. */
const nearly = 72
/** Fewer pixels than one letter has. */
const allowed = 12

const renews = process.env.BRIDGE_RENEW_PICTURES === '1'

/** Takes a picture of the whole screen, or of its first 2,000 pixels. */
export async function takePicture(page: Page, width: number): Promise<Buffer> {
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  const clip = { x: 0, y: 0, width, height: Math.min(2000, Math.max(900, height)) }
  return page.screenshot({ fullPage: true, clip, animations: 'disabled', caret: 'hide' })
}

/** Returns what is wrong, with the files that show it, or undefined. */
export function differenceOf(name: string, taken: Buffer): string | undefined {
  const file = join(folder, `${name}.png`)
  if (renews) {
    mkdirSync(folder, { recursive: true })
    const picture = readPng(taken)
    writeFileSync(file, writePng(picture))
    if (inDocs.includes(name)) {
      mkdirSync(docs, { recursive: true })
      writeFileSync(join(docs, `${name.split('-')[0]}.png`), writePng(topOf(picture, 900)))
    }
    return undefined
  }
  const now = readPng(taken)
  const problem = existsSync(file) ? compare(readPng(readFileSync(file)), now) : 'has no picture yet'
  if (problem === undefined) return undefined
  mkdirSync(failures, { recursive: true })
  writeFileSync(join(failures, `${name}.png`), taken)
  return `${name} ${problem}: see ${failures}/${name}.png beside ${file}, or run npm run test:page:pictures`
}

const topOf = ({ width, rgb }: Picture, height: number): Picture => ({
  ...{ width, height },
  rgb: rgb.subarray(0, width * height * 3),
})

/** Returns the first difference of two pictures, or undefined. */
export function compare(before: Picture, now: Picture): string | undefined {
  const sizes = [before, now].map(({ width, height }) => `${width} × ${height}`)
  if (sizes[0] !== sizes[1]) return `is ${sizes[1]} instead of ${sizes[0]} pixels`
  let [count, first] = [0, '']
  for (let y = 0; y < now.height; y += 1)
    for (let x = 0; x < now.width; x += 1) {
      if (isNear(before, now, x, y) && isNear(now, before, x, y)) continue
      count += 1
      first ||= `${x}, ${y}`
    }
  return count > allowed ? `differs in ${count} pixels, the first at ${first}` : undefined
}

/** Whether a pixel has about its colour in the other picture, there or beside it. */
function isNear(one: Picture, other: Picture, x: number, y: number): boolean {
  const colour = colourAt(one.rgb, y * one.width + x)
  if (distance(colour, colourAt(other.rgb, y * other.width + x)) <= nearly) return true
  for (let dy = -1; dy <= 1; dy += 1)
    for (let dx = -1; dx <= 1; dx += 1) {
      const isInside = x + dx >= 0 && y + dy >= 0 && x + dx < other.width && y + dy < other.height
      if (isInside && distance(colour, colourAt(other.rgb, (y + dy) * other.width + x + dx)) <= nearly)
        return true
    }
  return false
}
