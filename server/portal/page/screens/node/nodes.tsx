/** The nodes of an installation, if there are several or there were. */
import type { EndedNode, HostSampleList, NodeInfo } from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { Visible } from '../../text/visible.tsx'
import { plural } from '../../words/plural.ts'
import { percent } from '../../words/size.ts'
import { exact, when } from '../../words/time.ts'

interface Props {
  readonly list: HostSampleList
  /** Milliseconds since the answer. */
  readonly ageMs: number
}

export function Nodes({ list: { nodes, ended_nodes: ended, observed_at }, ageMs }: Props) {
  if (nodes.length + ended.length < 2) return null
  const nowMs = Date.parse(observed_at) + ageMs
  return (
    <section aria-labelledby="nodes">
      <h2 id="nodes">Nodes</h2>
      <ul class="cards">
        {nodes.map((node) => (
          <OneNode key={node.id} node={node} nowMs={nowMs} />
        ))}
        {ended.map((node) => (
          <Ended key={node.id} node={node} />
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
        {percent(node.cpu_percent / 100)} load, {plural(node.waits, 'open wait')}, {node.lag_ms} ms lag
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

function Ended({ node: { name, version, seen_at, left } }: { readonly node: EndedNode }) {
  const at = <time dateTime={seen_at}>{exact(seen_at)}</time>
  return (
    <li class="card">
      <h3>
        <Visible text={name} />
      </h3>
      <p>
        {left ? (
          <>
            <Mark name="disabled" /> Stopped at {at}
          </>
        ) : (
          <>
            <Mark name="alert" /> Lost: no heartbeat since {at}
          </>
        )}
      </p>
      <p class="meta">
        Version <Visible text={version} />. Listed here until it serves again, for a day at most.
      </p>
    </li>
  )
}
