/** Costs of a page by measurements that other work on the machine changes little. */
import type { CDPSession, Page } from 'playwright-core'

/** Value that a share of the values does not exceed. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)] ?? Number.NaN

/** Returns the bytes of the heap that are in use after a collection. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  for (let round = 0; round < 3; round += 1) await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize
}

interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: string[]; readonly node_types: [string[]] } }
  readonly nodes: readonly number[]
}

/** Returns the bytes of the data that the page's scripts hold, and those of their compiled code. */
export async function heldBy(session: CDPSession): Promise<{ data: number; code: number }> {
  for (let round = 0; round < 3; round += 1) await session.send('HeapProfiler.collectGarbage')
  const chunks: string[] = []
  const take = ({ chunk }: { readonly chunk: string }) => void chunks.push(chunk)
  session.on('HeapProfiler.addHeapSnapshotChunk', take)
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  session.off('HeapProfiler.addHeapSnapshotChunk', take)
  const { snapshot, nodes } = JSON.parse(chunks.join('')) as Snapshot
  const { node_fields: fields, node_types } = snapshot.meta
  const [type, size] = [fields.indexOf('type'), fields.indexOf('self_size')]
  const code = node_types[0].indexOf('code')
  const sum = { data: 0, code: 0 }
  for (let at = 0; at < nodes.length; at += fields.length)
    sum[nodes[at + type] === code ? 'code' : 'data'] += nodes[at + size] ?? 0
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

/** Measures how long the page works for each act, in milliseconds of processor time. */
export async function workOf(page: Page, acts: number, act: () => Promise<unknown>): Promise<number[]> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const worked = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
  const all: number[] = []
  for (let index = 0; index < acts; index += 1) {
    const before = await worked()
    await act()
    all.push((await worked()) - before)
  }
  await session.detach()
  return all
}
