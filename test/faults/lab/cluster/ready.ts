/** The time until a node is ready, or no longer ready. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../../support/process.ts'

const statusOf = ({ url }: ServerProcess) =>
  fetch(`${url}/api/ready`).then(
    (answer) => answer.status,
    () => 0,
  )

/** Milliseconds until readiness has this status. */
export async function untilReady(node: ServerProcess, status: number): Promise<number> {
  const begunMs = performance.now()
  while ((await statusOf(node)) !== status) await sleep(20)
  return performance.now() - begunMs
}
