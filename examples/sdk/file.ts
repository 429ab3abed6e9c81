/** Send a file. The call ends once the node has verified all of its parts. */
import { openProfile } from '../../sdk/index.ts'

const bridge = await openProfile()
try {
  const transfer = await bridge.transfers.send('report.txt', {
    to: 'ben',
    onProgress: ({ phase, bytes, total }) => console.log(`${phase}: ${bytes} of ${total} bytes`),
  })
  console.log(`offered as ${transfer.id}`)
} finally {
  await bridge.close()
}
