/** Tool for who is who: this agent, the owner's instructions, and the peers. */
import { peers as listPeers } from '../../commands/peers.ts'
import { whoami } from '../../commands/whoami.ts'
import { line, tool } from './tool.ts'

export const peers = tool({
  name: 'peers',
  description: "This agent, its owner's instructions, and its peers with their presence.",
  properties: { line },
  effect: 'reads',
  run: async (context) => {
    await whoami(context)
    context.output.note('')
    await listPeers(context)
  },
})
