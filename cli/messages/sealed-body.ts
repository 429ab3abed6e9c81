/**
 * The text of a message as it travels: as it is, or with `--encrypt` sealed to the key of whoever reads it.
 *
 * Nobody without a key is written to in the clear instead: that is a refusal, before anything is stored. Contract §12.
 */
import type { AgeKey } from '../../sdk/index.ts'
import { CommandError } from '../exit-codes.ts'
import type { Agent } from '../profile/agent.ts'

/** Who reads it: the other side of this conversation. */
export interface SealFor {
  /** For a refusal. */
  readonly whom: string
  readonly conversationId: string
}

/** Whom a name or an id means. */
export async function peerOf({ bridge }: Agent, peer: string, signal: AbortSignal): Promise<SealFor> {
  const { conversation_id: conversationId } = await bridge.directory.address(peer, { signal })
  return { whom: peer, conversationId }
}

/** What takes the place of the text. @throws LocalError `key_missing`; CommandError when it gets too long */
export async function sealedBody(
  { bridge }: Agent,
  { whom, conversationId }: SealFor,
  text: string,
  signal: AbortSignal,
) {
  const { BridgeError, LocalError, limits, sealText } = await import('../../sdk/index.ts')
  const key: Pick<AgeKey, 'recipient'> = await bridge.recipientKeys
    .ofConversation(conversationId, { signal })
    .catch((cause: unknown) => {
      if (!(cause instanceof BridgeError && cause.code === 'not_found')) throw cause
      throw new LocalError('key_missing', `${whom} has no registered key to seal to`, { cause })
    })
  const body = await sealText(text, key.recipient)
  if (body.length <= limits.messageBodyBytes) return { body, encoding: 'age' as const }
  throw new CommandError(
    'usage',
    `sealed, the text is ${body.length} bytes long; a message holds ${limits.messageBodyBytes}`,
  )
}
