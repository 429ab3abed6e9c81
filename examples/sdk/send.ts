/** Open the profile that `bridge enroll` made, and send a message. */
import { openProfile } from '../../sdk/index.ts'

const bridge = await openProfile()
try {
  const { message } = await bridge.messages.sendTo('ben', { type: 'note', body: 'The build is green.' })
  console.log(`stored as number ${message.sequence}`)
} finally {
  await bridge.close()
}
