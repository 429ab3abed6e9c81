/** Handle each class of error by its code. A code keeps its meaning. The text of a message may change. */
import { BridgeError, isOutcomeUnknown, LocalError, openProfile } from '../../sdk/index.ts'

try {
  const bridge = await openProfile()
  const sent = bridge.messages.sendTo('nobody', { type: 'note', body: 'Hello?' })
  await sent.finally(() => bridge.close())
} catch (error) {
  if (error instanceof BridgeError) console.log(`the node refused: ${error.code}`)
  else if (error instanceof LocalError) console.log(`no answer of the node: ${error.code}`)
  else throw error
  if (isOutcomeUnknown(error)) console.log('the outbox of the profile sends it again')
}
