/** The table of the nodes of an installation. */
import type { NodeInfo } from '../../sdk/index.ts'
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
