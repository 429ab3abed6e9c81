/** Several nodes as processes on one PostgreSQL cluster. */
import type { Cluster } from './postgres-cluster.ts'
import { type ProcessOptions, type ServerProcess, startServerProcess } from './process.ts'

export interface NodeRow {
  readonly id: string
  readonly name: string
  readonly leads: boolean
}

/** Starts nodes named `a`, `b`, `c` …, one after another. */
export async function startNodes(
  cluster: Cluster,
  count: number,
  options: ProcessOptions = {},
): Promise<[ServerProcess, ServerProcess, ...ServerProcess[]]> {
  const nodes: ServerProcess[] = []
  try {
    while (nodes.length < count)
      nodes.push(await startNode(cluster, 'abcdefgh'[nodes.length] ?? '', nodes[0], options))
  } catch (error) {
    await closeNodes(nodes)
    throw error
  }
  return nodes as [ServerProcess, ServerProcess, ...ServerProcess[]]
}

/** Starts one node. `beside` is one of the others. Without a shared store they take no packages. */
export const startNode = (
  cluster: Pick<Cluster, 'url'>,
  name: string,
  beside: ServerProcess | undefined,
  options: ProcessOptions = {},
): Promise<ServerProcess> =>
  startServerProcess({
    ...options,
    joins: beside,
    settings: { package_bytes: '0', ...options.settings, database: cluster.url, node_name: name },
  })

export async function closeNodes(nodes: readonly ServerProcess[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.close()))
}

/** The nodes that the database knows, by name. */
export const readNodes = (cluster: Cluster): Promise<NodeRow[]> =>
  cluster.query<NodeRow>(
    `SELECT id, name, EXISTS (SELECT 1 FROM leases WHERE leases.name = 'leader' AND holder = nodes.id
      AND until > clock_timestamp()) AS leads FROM nodes ORDER BY name`,
  )

/** Dates the last beat of a node back, so that the others count it as ended. */
export const makeSilent = (cluster: Cluster, name: string): Promise<unknown[]> =>
  cluster.query("UPDATE nodes SET seen_at = seen_at - interval '11 s' WHERE name = $1", [name])
