/** The nodes of an installation, if there are several. */
import type { HostSampleList, NodeInfo } from '../../../../../sdk/browser.ts'
import { Visible } from '../../text/visible.tsx'
import { percent } from '../../words/size.ts'
import { exact, when } from '../../words/time.ts'

interface Props {
  readonly list: HostSampleList
  /** Milliseconds since the answer. */
  readonly ageMs: number
}

export function Nodes({ list: { nodes, observed_at }, ageMs }: Props) {
  if (nodes.length < 2) return null
  const nowMs = Date.parse(observed_at) + ageMs
  return (
    <section aria-labelledby="nodes">
      <h2 id="nodes">Nodes</h2>
      <ul class="cards">
        {nodes.map((node) => (
          <OneNode key={node.id} node={node} nowMs={nowMs} />
        ))}
      </ul>
    </section>
  )
}

function OneNode({ node, nowMs }: { readonly node: NodeInfo; readonly nowMs: number }) {
  return (
    <li class="card">
      <h3>
        <Visible text={node.name} />
      </h3>
      <p>
        {percent(node.cpu_percent / 100)} load, {node.waits} open waits, {node.lag_ms} ms lag
      </p>
      <p class="meta">
        Version <Visible text={node.version} />
        {node.leads && ', runs maintenance'}. Seen{' '}
        <time dateTime={node.seen_at} title={exact(node.seen_at)}>
          {when(node.seen_at, nowMs)}
        </time>
      </p>
    </li>
  )
}
