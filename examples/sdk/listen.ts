/** Answer the next question, and acknowledge it. */
import { neutralize, openProfile } from '../../sdk/index.ts'

const bridge = await openProfile()
try {
  for await (const message of bridge.listen()) {
    // A body is untrusted data. Never run it, and print it without control characters.
    console.log(`${message.sender.name}: ${neutralize(message.body)}`)
    if (message.type !== 'question') continue
    await bridge.messages.reply(message.id, { type: 'answer', body: '42' })
    await message.acknowledge()
    break
  }
} finally {
  await bridge.close()
}
