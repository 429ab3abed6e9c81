/**
 * Body of a message sent with `--encrypt`: the text, sealed to the recipient's key.
 *
 * If the recipient has no key, the command refuses before anything is stored. It never sends the plain text
 * instead. Contract §12.
 */

import type { AgeKey } from '../../sdk/index.ts'
import type { Agent } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import type { First } from '../profile/first-use.ts'

/** Recipient of the sealed text: the other side of this conversation. */
export interface SealFor {
  /** Name for a refusal. */
  readonly whom: string
  readonly conversationId: string
}

/** Finds the peer that a name or an id means. */
export async function peerOf({ bridge }: Agent, peer: string, signal: AbortSignal): Promise<SealFor> {
  const { conversation_id: conversationId } = await bridge.directory.address(peer, { signal })
  return { whom: peer, conversationId }
}

/** Seals the text. @throws LocalError `key_missing`; CommandError when the sealed text is too long */
export async function sealedBody(
  { bridge }: Agent,
  { whom, conversationId }: SealFor,
  text: string,
  { signal, first }: { readonly signal: AbortSignal; readonly first: First },
) {
  const { BridgeError, LocalError, limits, sealText } = await import('../../sdk/index.ts')
  const key: Pick<AgeKey, 'recipient'> = await bridge.recipientKeys
    .ofConversation(conversationId, { signal })
    .catch((cause: unknown) => {
      if (!(cause instanceof BridgeError && cause.code === 'not_found')) throw cause
      throw new LocalError('key_missing', `${whom} has no registered key to seal to`, { cause })
    })
  // age seals each text differently.
  const body = await first(`sealed ${key.recipient} ${text}`, () => sealText(text, key.recipient))
  if (body.length <= limits.messageBodyBytes) return { body, encoding: 'age' as const }
  throw new CommandError(
    'usage',
    `the sealed text has ${body.length} bytes; a message may have at most ${limits.messageBodyBytes}`,
  )
}
