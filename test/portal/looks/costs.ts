/** Costs of a page by measurements that other work on the machine changes little. */
import type { Page } from 'playwright-core'
import type { Visitor } from '../chromium.ts'
import { memory } from '../traces.ts'

/** Value that a share of the values does not exceed. */
const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)] ?? Number.NaN

interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: string[]; readonly node_types: [string[]] } }
  readonly nodes: readonly number[]
}

/**
 * Returns the bytes of the data that the scripts of a page hold, and those of their compiled code.
 *
 * Objects of the browser are left out: it keeps a record of each request and of each slow frame, for the developer
 * tools that measure here.
 */
export async function heldBy(visitor: Visitor): Promise<{ data: number; code: number }> {
  const { snapshot, nodes } = JSON.parse(await memory(visitor)) as Snapshot
  const { node_fields: fields, node_types } = snapshot.meta
  const [type, size] = [fields.indexOf('type'), fields.indexOf('self_size')]
  const [code, native] = [node_types[0].indexOf('code'), node_types[0].indexOf('native')]
  const sum = { data: 0, code: 0 }
  for (let at = 0; at < nodes.length; at += fields.length)
    if (nodes[at + type] !== native) sum[nodes[at + type] === code ? 'code' : 'data'] += nodes[at + size] ?? 0
  return sum
}

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

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** Processor time in microseconds. */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/** Returns the milliseconds of processor time of each task of the pages during an act, longest first. */
export async function tasksOf(page: Page, act: () => Promise<unknown>): Promise<number[]> {
  const browser = page.context().browser()
  if (browser === null) throw new Error('the page has no browser')
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
  await act()
  const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as { traceEvents: TraceEvent[] }
  const placeOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const mains = new Set(traceEvents.filter(({ args }) => args.name === 'CrRendererMain').map(placeOf))
  return traceEvents
    .filter((event) => mains.has(placeOf(event)) && event.tdur !== undefined)
    .map(({ tdur = 0 }) => tdur / 1000)
    .sort((one, other) => other - one)
}
