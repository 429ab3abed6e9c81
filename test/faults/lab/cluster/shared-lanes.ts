/**
 * Writers in the lanes that all projects share: that of the node, and that of the room for packages. They write
 * seldom, because the writes of all projects in these lanes wait for each other. Their pauses do not count as time
 * in which a lane stands.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestAgent } from '../../../support/agent.ts'
import { offerBody } from '../../../support/files.ts'
import { ownerAt } from '../../../support/nodes.ts'
import type { TestOwner } from '../../../support/owner.ts'
import { machineMs } from '../client-log.ts'
import type { Calls } from './calls.ts'

const everyMs = 700

export interface SharedWriters {
  readonly owner: TestOwner
  /** A project that nobody else uses. */
  readonly projectId: string
  readonly from: TestAgent
  readonly to: TestAgent
}

export type SharedLane = 'node' | 'packages'

/** A write in a shared lane: when it was first sent, and when it was confirmed. */
export interface SharedWrite {
  readonly lane: SharedLane
  readonly begunMs: number
  readonly confirmedMs: number
}

/** Calls `confirmed` after each write, until the calls are over. @throws if a node refuses a write for good */
export async function writeSharedLanes(
  calls: Calls,
  { owner, projectId, from, to }: SharedWriters,
  confirmed: (write: SharedWrite) => void,
): Promise<void> {
  const writeNode = async (count: number) => {
    const target = `/api/admin/projects/${projectId}/profile`
    const body = { description: `change ${count}` }
    const override = { Origin: new URL(owner.baseUrl).origin }
    const begunMs = machineMs()
    const reply = await calls.soonest('a change of a project', (node) =>
      ownerAt(node, owner).call({ target, body, override }),
    )
    if (reply !== undefined) confirmed({ lane: 'node', begunMs, confirmedMs: machineMs() })
  }
  const writePackages = async (count: number) => {
    const key = `offer-${count}-${from.id}`
    const target = '/api/v1/transfers'
    const begunMs = machineMs()
    const offered = await calls.soonest('an offer', (node) =>
      calls.at(from, node).call({ target, key, body }),
    )
    if (offered === undefined) return
    confirmed({ lane: 'packages', begunMs, confirmedMs: machineMs() })
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
