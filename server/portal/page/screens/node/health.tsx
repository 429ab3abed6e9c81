/** Version, identity and readiness of the node. */
import { useEffect, useMemo } from 'preact/hooks'
import { connectionLabels, limits, type Readiness } from '../../../../../sdk/browser.ts'
import { polled } from '../../live/polled.ts'
import { owner } from '../../owner.ts'
import { Copy } from '../../parts/copy.tsx'
import { Mark } from '../../parts/marks.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'

const everyMs = 15_000

type Check = keyof Readiness['checks']

const words: Readonly<Record<Check, readonly [passes: string, fails: string]>> = {
  auth: ['The address of the page is valid', 'The address of the page is not valid'],
  envelope_key: ['The envelope key can be read', 'The envelope key is missing or damaged'],
  migrations: [
    'The database has the form of this version',
    'The database does not have the form of this version',
  ],
  database: ['The database answers', 'The database does not answer'],
  storage: ['The disk has room', 'The disk is full'],
  nodes: ['This node may write to its data', 'This node may not write: another one has taken its place'],
}

function wordsOf(check: Check, { checks, packages }: Readiness): string {
  if (check === 'storage' && !packages) return 'The object store of packages does not answer'
  return words[check][checks[check] ? 0 : 1]
}

const checks = Object.keys(words) as Check[]

export function HealthFacts() {
  const status = useMemo(
    () =>
      polled(
        async (signal) => ({
          health: await owner.health({ signal }),
          readiness: await owner.readiness({ signal }),
        }),
        everyMs,
      ),
    [],
  )
  useEffect(() => status.stop, [])
  const known = status.value.value
  if (known === undefined) return <Refusal error={status.error.value} />
  const { build, stage, server_id, portal_origin } = known.health
  const isStale = status.ageMs.value > limits.snapshotStaleSeconds * 1000
  return (
    <section aria-labelledby="health">
      <h2 id="health">Health</h2>
      <ul class="checks" aria-label="Readiness checks">
        {isStale ? (
          <li>
            <Mark name="unavailable" /> {connectionLabels.unavailable}
          </li>
        ) : (
          checks.map((check) => (
            <li key={check} class={known.readiness.checks[check] ? undefined : 'fault'}>
              <Mark name={known.readiness.checks[check] ? 'acknowledged' : 'alert'} />{' '}
              {wordsOf(check, known.readiness)}
            </li>
          ))
        )}
      </ul>
      <dl class="facts">
        <dt>Version</dt>
        <dd>
          <Visible text={build.version} />
        </dd>
        <dt>Commit</dt>
        <dd>
          <code>
            <Visible text={build.commit} />
          </code>
        </dd>
        {build.built_at !== null && (
          <>
            <dt>Built</dt>
            <dd>
              <When at={build.built_at} isExact />
            </dd>
          </>
        )}
        <dt>Stage</dt>
        <dd>
          <Visible text={stage} />
        </dd>
        <dt>Address</dt>
        <dd>
          <Visible text={portal_origin} />
        </dd>
        <dt>Server id</dt>
        <dd>
          <span class="id">
            <code>{server_id}</code>
            <Copy text={server_id} label="Copy" isQuiet />
          </span>
        </dd>
      </dl>
    </section>
  )
}
