/** Costs of a page by measurements that other work on the machine changes little. */
import type { Page } from 'playwright-core'

/** Value that a share of the values does not exceed. */
const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)] ?? Number.NaN

const turns = 100

/** Turns the wheel upwards. Returns the 95th percentile of the milliseconds between two frames. */
export async function wheelFrames(page: Page): Promise<number> {
  await page.mouse.move(400, 400)
  await page.evaluate(`
    window.frames_ = []
    window.isTurning = true
    const frame = (last) => requestAnimationFrame((at) => {
      frames_.push(at - last)
      if (isTurning) frame(at)
    })
    requestAnimationFrame(frame)`)
  for (let turn = 0; turn < turns; turn += 1) await page.mouse.wheel(0, -500)
  return quantile(await page.evaluate<number[]>('isTurning = false, frames_'), 0.95)
}
