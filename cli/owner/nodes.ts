/** The nodes of an installation as text. */
import type { EndedNode, NodeInfo } from '../../sdk/index.ts'
import { tableText } from '../terminal/output.ts'
import { relative } from '../terminal/words.ts'

export const nodesText = (nodes: readonly NodeInfo[], now: Date): string =>
  tableText(
    ['nodes', 'version', 'load', 'waits', 'lag', 'seen'],
    nodes.map((node) => [
      ...[node.leads ? `${node.name} (leads)` : node.name, node.version, `${node.cpu_percent.toFixed(0)} %`],
      ...[String(node.waits), `${node.lag_ms} ms`, relative(node.seen_at, now)],
    ]),
  )

/** One line for each node that ended. */
export const endedText = (ended: readonly EndedNode[], now: Date): string =>
  ended
    .map(({ name, seen_at, left }) =>
      left
        ? `${name} was stopped ${relative(seen_at, now)}`
        : `${name} is lost: its last heartbeat was ${relative(seen_at, now)}`,
    )
    .join('\n')
