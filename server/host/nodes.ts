/** The nodes of an installation on PostgreSQL, for a command on one of their hosts. */
import type { NodeInfo } from '../../sdk/contract/telemetry.ts'
import type { Config } from '../config.ts'
import { toNodeInfo } from '../telemetry/actions.ts'

/** Lists the nodes that are alive. Undefined on SQLite, which has one. @throws errors of connecting */
export async function listNodes({
  databaseUrl: url,
}: Pick<Config, 'databaseUrl'>): Promise<NodeInfo[] | undefined> {
  if (url === undefined) return undefined
  const { readNodes } = await import('../database/postgres/nodes.ts')
  return (await readNodes(url)).map(toNodeInfo)
}

/** Other nodes serve the installation, and the command must be the only one at work. */
export class OtherNodesError extends Error {
  override readonly name = 'OtherNodesError'
}

/** @throws OtherNodesError if a node of another name is alive; errors of connecting */
export async function requireNoOtherNode(config: Pick<Config, 'databaseUrl'>, own: string): Promise<void> {
  const others = ((await listNodes(config)) ?? []).filter(({ name }) => name !== own)
  if (others.length === 0) return
  const names = others.map(({ name }) => name).join(', ')
  throw new OtherNodesError(`other nodes serve this installation, with a copy of the key each: ${names}`)
}
