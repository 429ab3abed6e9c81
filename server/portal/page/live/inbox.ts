/** Messages of the owner's inbox by id. Questions that one screen draws share one reading of the inbox. */
import type { OwnerInboxMessage } from '../../../../sdk/browser.ts'
import { owner } from '../owner.ts'

type Found = ReadonlyMap<string, OwnerInboxMessage>

interface Reading {
  readonly wanted: Set<string>
  readonly found: Promise<Found>
}

/** Readings that have not begun, by project. */
const planned = new Map<string, Reading>()

/** Returns a message of the inbox, or undefined if it was acknowledged. */
export async function inboxMessage(project: string, id: string): Promise<OwnerInboxMessage | undefined> {
  const reading = planned.get(project) ?? plan(project)
  reading.wanted.add(id)
  return (await reading.found).get(id)
}

function plan(project: string): Reading {
  const wanted = new Set<string>()
  // All effects of a drawing run before it.
  const found = Promise.resolve().then(() => {
    planned.delete(project)
    return read(project, wanted)
  })
  const reading = { wanted, found }
  planned.set(project, reading)
  return reading
}

async function read(projectId: string, wanted: ReadonlySet<string>): Promise<Found> {
  const found = new Map<string, OwnerInboxMessage>()
  for await (const message of owner.inbox.all({ projectId })) {
    if (wanted.has(message.id)) found.set(message.id, message)
    if (found.size === wanted.size) break
  }
  return found
}
