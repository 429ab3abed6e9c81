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
