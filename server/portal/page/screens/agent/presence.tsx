/** Presence of an agent: the five words, its session, and what it did in the last 24 hours. */
import { connectionLabels as labels, type SnapshotAgent } from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { Section } from '../../parts/section.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { presence } from '../../words/connection.ts'
import { exact } from '../../words/time.ts'
import type { About } from './about.ts'
import type { SessionFacts } from './session.ts'
import { Strip } from './strip.tsx'

interface Props extends About {
  readonly seen: SnapshotAgent | undefined
  readonly session: SessionFacts | null | undefined
}

export function Presence({ project, agent, live, seen, session }: Props) {
  const connection = seen?.connection ?? agent.connection
  const words = presence(connection, live.nodeNow.value, live.isStale.value)
  return (
    <Section id="presence" title="Presence">
      <dl class="facts">
        <dt>{labels.connected}</dt>
        <dd>
          <Mark name={words.mark} /> {words.connected}
        </dd>
        <dt>{labels.listening_now}</dt>
        <dd>{words.listening}</dd>
        <dt>{labels.last_contact}</dt>
        <dd>{words.lastContact}</dd>
        <dt>{labels.next_contact}</dt>
        <dd>{words.nextContact}</dd>
        <dt>Observed</dt>
        <dd>{exact(connection.observed_at)}</dd>
        <dt>Waiting</dt>
        <dd>{seen === undefined ? 'unknown' : `${seen.waiting} in its inbox`}</dd>
        <dt>Session</dt>
        <dd>
          <SessionWords session={session} />
        </dd>
      </dl>
      <Strip project={project} agent={agent} live={live} />
    </Section>
  )
}

/** Generation, client and time of a session. */
export function SessionWords({ session }: Pick<Props, 'session'>) {
  if (session === undefined) return <>reading…</>
  if (session === null) return <>none yet</>
  const { generation, client, since, until } = session
  return (
    <>
      {generation} of <Visible text={client} />, began <When at={since} />
      {until !== undefined && (
        <>
          , ended <When at={until} />
        </>
      )}
    </>
  )
}
