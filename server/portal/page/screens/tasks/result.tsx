/** Progress, result and evidence, as the assignee reported them. The node does not check them. */
import type { Evidence, Task } from '../../../../../sdk/browser.ts'
import { Body } from '../../parts/body.tsx'
import { Copy } from '../../parts/copy.tsx'
import { When } from '../../parts/when.tsx'
import { Pieces, Visible } from '../../text/visible.tsx'

interface Props {
  readonly task: Task
  readonly holder: string
}

export function Progress({ task: { progress }, holder }: Props) {
  if (progress === null) return null
  const { percent, note, reported_at } = progress
  return (
    <section aria-labelledby="progress">
      <h2 id="progress">Progress</h2>
      <p>
        {percent !== null && (
          <>
            <meter min={0} max={100} value={percent} aria-label="Progress" /> {percent} %{' '}
          </>
        )}
        <span class="meta">
          reported by <Visible text={holder} />, <When at={reported_at} isExact />
        </span>
      </p>
      {note !== null && <Body text={note} from={holder} />}
    </section>
  )
}

export function Result({ task: { outcome }, holder, project }: Props & { readonly project: string }) {
  if (outcome === null) return null
  const { kind, result, evidence, reported_at } = outcome
  return (
    <section aria-labelledby="result">
      <h2 id="result">{kind === 'completed' ? 'Result' : 'Reason'}</h2>
      {kind === 'attempts_exhausted' ? (
        <p>
          No attempt was left, <When at={reported_at} isExact />.{' '}
          {result !== null && <Visible text={result} />}
        </p>
      ) : (
        <>
          <p class="meta">
            Reported by <Visible text={holder} />, <When at={reported_at} isExact />; the node has not checked
            it.
          </p>
          {result !== null && <Body text={result} from={holder} />}
        </>
      )}
      {evidence.length > 0 && (
        <>
          <h3 class="subtitle">Evidence</h3>
          <ul class="evidence">
            {evidence.map((each, index) => (
              <Item key={index} of={each} project={project} />
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

interface ItemProps {
  readonly of: Evidence
  readonly project: string
}

function Item({ of: { kind, value, label, sha256, exit_code }, project }: ItemProps) {
  const inside = insideOf(kind, value)
  return (
    <li>
      <p class="actions">
        <span class="tag">{kind}</span>
        {label !== undefined && <Visible text={label} />}
        <Copy text={value} label="Copy" isQuiet />
      </p>
      {inside === undefined ? (
        <p class={kind === 'text' || kind === 'url' ? 'value' : 'value mono'} dir="auto">
          <Pieces text={value} />
        </p>
      ) : (
        <p>
          <a href={`/projects/${project}/${inside}`}>Open the {kind}</a> <code>{value}</code>
        </p>
      )}
      {exit_code !== undefined && (
        <p>{exit_code === 0 ? '✓ exit code 0: it succeeded' : `✕ exit code ${exit_code}: it failed`}</p>
      )}
      {sha256 !== undefined && (
        <p class="actions">
          <span>
            SHA-256 <code>{sha256}</code>
          </span>
          <Copy text={sha256} label="Copy the hash" isQuiet />
        </p>
      )}
    </li>
  )
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Returns the address of a message or transfer of this project; undefined for all else, which is no link. */
function insideOf(kind: Evidence['kind'], value: string): string | undefined {
  if (!uuid.test(value)) return undefined
  return kind === 'message' || kind === 'transfer' ? `${kind}s/${value}` : undefined
}
