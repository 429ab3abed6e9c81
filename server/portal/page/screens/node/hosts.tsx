/** CPU and memory of each host that reports, now and in the last 24 hours. */
import { useEffect, useMemo } from 'preact/hooks'
import {
  connectionLabels,
  type HostHistory,
  type HostSample,
  type HostSampleList,
  limits,
} from '../../../../../sdk/browser.ts'
import { polled } from '../../live/polled.ts'
import { owner } from '../../owner.ts'
import { Mark } from '../../parts/marks.tsx'
import { Spark } from '../../parts/spark.tsx'
import { Visible } from '../../text/visible.tsx'
import { percent, size } from '../../words/size.ts'
import { exact, span, when } from '../../words/time.ts'

interface Props {
  readonly list: HostSampleList
  /** Milliseconds since the answer. */
  readonly ageMs: number
}

export function Hosts({ list: { hosts, observed_at }, ageMs }: Props) {
  const nowMs = Date.parse(observed_at) + ageMs
  return (
    <section aria-labelledby="hosts">
      <h2 id="hosts">Load of the hosts</h2>
      <ul class="cards">
        {hosts.map((sample) => (
          <Host key={sample.host} sample={sample} nowMs={nowMs} />
        ))}
      </ul>
      {hosts.length < 2 && (
        <p class="meta">
          Other machines can report here. On the host of the node, with the data folder that the node was
          started with, <code>agent-bridge server telemetry-token --data …</code> prints the token for them.
        </p>
      )}
    </section>
  )
}

function Host({ sample, nowMs }: { readonly sample: HostSample; readonly nowMs: number }) {
  const { host, sampled_at, cpu_percent, memory_used_bytes, memory_total_bytes } = sample
  const sampleMs = nowMs - Date.parse(sampled_at)
  // While the node is silent, its answer grows old here.
  const isStale = sample.stale || sampleMs > limits.telemetryStaleSeconds * 1000
  const memory = memory_used_bytes / memory_total_bytes
  return (
    <li class="card">
      <h3>
        <Visible text={host} />
      </h3>
      {isStale ? (
        <p>
          <Mark name="unavailable" /> {connectionLabels.unavailable}
        </p>
      ) : (
        <>
          <Gauge label="CPU" share={cpu_percent / 100} words={percent(cpu_percent / 100)} />
          <Gauge
            label="Memory"
            share={memory}
            words={`${percent(memory)}, ${size(memory_used_bytes)} of ${size(memory_total_bytes)}`}
          />
        </>
      )}
      <p class="meta">
        Last sample{' '}
        <time dateTime={sampled_at} title={exact(sampled_at)}>
          {when(sampled_at, nowMs)}
        </time>
      </p>
      <History host={host} />
    </li>
  )
}

interface GaugeProps {
  readonly label: string
  /** From 0 to 1. */
  readonly share: number
  readonly words: string
}

export function Gauge({ label, share, words }: GaugeProps) {
  return (
    <p class="gauge">
      <span class="label">{label}</span>
      <span>{words}</span>
      <meter min={0} max={1} high={0.9} value={share} aria-label={`${label}: ${words}`} />
    </p>
  )
}

const everyMs = 60_000
const dayMs = 86_400_000

function History({ host }: { readonly host: string }) {
  const history = useMemo(
    () => polled((signal) => owner.telemetry.history(host, { signal }), everyMs),
    [host],
  )
  useEffect(() => history.stop, [history])
  const known = history.value.value
  if (known === undefined || known.minutes.length < 2) return null
  return (
    <>
      <Line name="CPU" of={({ cpu_percent }) => cpu_percent / 100} history={known} />
      <Line
        name="Memory"
        of={({ memory_used_bytes, memory_total_bytes }) => memory_used_bytes / memory_total_bytes}
        history={known}
      />
    </>
  )
}

interface LineProps {
  readonly name: string
  readonly of: (minute: HostHistory['minutes'][number]) => number
  readonly history: HostHistory
}

function Line({ name, of, history: { minutes, observed_at } }: LineProps) {
  const to = Date.parse(observed_at)
  const points = minutes.map((minute) => ({ at: Date.parse(minute.at), value: of(minute) }))
  const from = Math.max(to - dayMs, Math.min(...points.map(({ at }) => at)))
  const values = points.map(({ value }) => value)
  const words = `${name} in the last ${span(to - from)}: ${percent(Math.min(...values))} to ${percent(Math.max(...values))}`
  return (
    <figure class="history">
      <Spark points={points} from={from} to={to} gapMs={150_000} words={words} />
      <figcaption class="meta">{words}</figcaption>
    </figure>
  )
}
