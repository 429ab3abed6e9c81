/**
 * Writers in the lanes that all projects share: that of the node, and that of the room for packages. They write
 * seldom, because the writes of all projects in these lanes wait for each other.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestAgent } from '../../../support/agent.ts'
import { offerBody } from '../../../support/files.ts'
import { ownerAt } from '../../../support/nodes.ts'
import type { TestOwner } from '../../../support/owner.ts'
import { machineMs } from '../client-log.ts'
import type { Calls } from './calls.ts'

const everyMs = 1000

export interface SharedWriters {
  readonly owner: TestOwner
  /** A project that nobody else uses. */
  readonly projectId: string
  readonly from: TestAgent
  readonly to: TestAgent
}

export type SharedLane = 'node' | 'packages'

/** Calls `confirmed` after each write, until the calls are over. @throws if a node refuses a write for good */
export async function writeSharedLanes(
  calls: Calls,
  { owner, projectId, from, to }: SharedWriters,
  confirmed: (lane: SharedLane, atMs: number) => void,
): Promise<void> {
  const writeNode = async (count: number) => {
    const target = `/api/admin/projects/${projectId}/profile`
    const body = { description: `change ${count}` }
    const override = { Origin: new URL(owner.baseUrl).origin }
    const reply = await calls.granted('a change of a project', (node) =>
      ownerAt(node, owner).call({ target, body, override }),
    )
    if (reply !== undefined) confirmed('node', machineMs())
  }
  const writePackages = async (count: number) => {
    const key = `offer-${count}-${from.id}`
    const target = '/api/v1/transfers'
    const offered = await calls.granted('an offer', (node) =>
      calls.at(from, node).call({ target, key, body }),
    )
    if (offered === undefined) return
    confirmed('packages', machineMs())
    const { id } = offered.json as { id: string }
    await calls.granted('the end of an offer', (node) =>
      calls.at(from, node).call({ target: `${target}/${id}/cancel`, body: {}, key: null }),
    )
  }
  const body = await offerBody({ from, to, bytes: Buffer.from('x') })
  const each = async (write: (count: number) => Promise<void>) => {
    for (let count = 0; !calls.isOver; count += 1) {
      await write(count)
      await sleep(everyMs)
    }
  }
  await Promise.all([each(writeNode), each(writePackages)])
}
