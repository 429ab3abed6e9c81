/** opencode: one plugin file of our own, which also registers the MCP server. No file of the user's changes. */
import { join } from 'node:path'
import { hookSeconds, type Layout, type LayoutOf, mcpServer, ourName, programWords } from './layout.ts'
import { pluginText } from './opencode-plugin.ts'
import { placeOf } from './places.ts'

export const opencodeLayout: LayoutOf = (machine, { mcpProfile }): Layout => {
  const { folder } = placeOf('opencode', machine)
  const server = mcpProfile === undefined ? null : mcpServer(machine, mcpProfile)
  const text = pluginText({
    hook: [...programWords(machine), 'hooks', 'run', 'opencode'],
    hookMs: hookSeconds * 1000,
    server: server === null ? null : [server.command, ...server.args],
    name: ourName,
  })
  return {
    files: [{ path: join(folder, 'plugins', `${ourName}.js`), text }],
    shared: [],
    byHand: ['start opencode again: running sessions do not load the plugin'],
  }
}
