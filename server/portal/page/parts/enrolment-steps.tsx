/** How far an agent has come with its prompt: enrolled, session started, listening. */
import { useEffect, useRef } from 'preact/hooks'
import { type AuditRecord, connectionLabels, type SnapshotAgent } from '../../../../sdk/browser.ts'
import { Visible } from '../text/visible.tsx'
import { presence } from '../words/connection.ts'
import { span, when } from '../words/time.ts'
import { announce } from './announce.tsx'
import { Mark } from './marks.tsx'

interface Props {
  readonly name: string
  readonly expiresAt: string
  readonly seen: SnapshotAgent | undefined
  /** Records of the agent and of its enrolment, oldest first. */
  readonly records: readonly AuditRecord[]
  readonly nowMs: number
  readonly isStale: boolean
}

export function EnrolmentSteps({ name, expiresAt, seen, records, nowMs, isStale }: Props) {
  const [claimed, started, reused] = [
    find(records, 'enrollment.claimed'),
    find(records, 'session.started'),
    find(records, 'enrollment.reused'),
  ]
  const words = seen && presence(seen.connection, nowMs, isStale)
  const left = Date.parse(expiresAt) - nowMs
  const isListening = started !== undefined && words?.listening === 'yes'
  const last = isListening ? 'listens' : started ? 'started its session' : claimed ? 'enrolled' : ''
  useAnnounced(`steps of ${name}`, last === '' ? '' : `An agent ${last}.`)
  useAnnounced(`reuse of ${name}`, reused === undefined ? '' : reuseWords)
  return (
    <ul class="progress">
      {reused !== undefined && <Reused />}
      {claimed === undefined && (
        <li>
          <Mark name="away" /> Waiting for <Visible text={name} /> to enrol
          {Number.isFinite(left) && (left > 0 ? ` (code good for ${span(left)})` : ': the code has expired')}
        </li>
      )}
      {claimed !== undefined && (
        <li>
          <Mark name="listening" /> Enrolled, {when(claimed.at, nowMs)}
        </li>
      )}
      {started !== undefined && (
        <li>
          <Mark name="listening" /> Session started, {when(started.at, nowMs)}
        </li>
      )}
      {started !== undefined && words !== undefined && (
        <li>
          <Mark name={words.mark} />{' '}
          {words.listening === 'yes' ? connectionLabels.listening_now : words.summary}
        </li>
      )}
      {claimed !== undefined && !isStale && !seen?.connection.listening_now && (
        <li>
          <Mark name="away" /> Waiting for <Visible text={name} />{' '}
          {started === undefined ? 'to start its session' : 'to listen'}
        </li>
      )}
    </ul>
  )
}

const reuseWords = 'The code was used a second time, by another key. Enrol the agent again.'

/** Announces a step once, when it is reached. The times in the lines change each second, so they say nothing. */
function useAnnounced(subject: string, sentence: string): void {
  const said = useRef(sentence)
  useEffect(() => {
    if (sentence !== '' && sentence !== said.current) announce(subject, sentence)
    said.current = sentence
  }, [sentence])
}

/** The line that says that somebody else may have the code. */
export const Reused = () => (
  <li class="fault">
    <Mark name="alert" /> {reuseWords}
  </li>
)

/** Returns the last record of a kind. */
const find = (records: readonly AuditRecord[], kind: string): AuditRecord | undefined =>
  records.findLast((each) => each.kind === kind)

/** Returns whether a record tells of an agent, or of one of its enrolments. */
export const concerns = ({ actor, subject, details }: AuditRecord, agent: string): boolean =>
  actor.id === agent || subject.id === agent || details.agent_id === agent
