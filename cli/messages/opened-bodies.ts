/**
 * Opens bodies that were sealed to this profile, for display only. The objects of `--json`, the journal, and
 * the input of `listen --exec` stay sealed. Contract §12.
 */
import type { Message } from '../../sdk/index.ts'
import type { ProfilePaths } from '../../sdk/profile/profile-files.ts'
import type { Agent } from '../context.ts'
import { readAgeKey } from '../profile/age-key.ts'
import type { Opened, Reader } from './message-text.ts'

/** Creates the reader of these messages. Reads the key only if a body is sealed. */
export async function readerOf(
  { bridge, profile, paths }: Agent,
  messages: readonly Message[],
): Promise<Reader> {
  return {
    project: profile.identity.project.name,
    now: await bridge.now(),
    opened: await openedBodies(paths, messages),
  }
}

async function openedBodies(
  paths: ProfilePaths,
  messages: readonly Message[],
): Promise<ReadonlyMap<string, Opened>> {
  const sealed = messages.filter(({ encoding }) => encoding === 'age')
  if (sealed.length === 0) return new Map()
  const { LocalError, openSealedText } = await import('../../sdk/index.ts')
  const key = await readAgeKey(paths)
  const open = async ({ body }: Message): Promise<Opened> => {
    if (key === undefined) return { problem: 'this profile has no age key' }
    try {
      return { text: await openSealedText(body, key.secret) }
    } catch (error) {
      if (!(error instanceof LocalError)) throw error
      return { problem: error.message }
    }
  }
  return new Map(await Promise.all(sealed.map(async (message) => [message.id, await open(message)] as const)))
}
