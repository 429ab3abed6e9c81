/** One message of the owner to every enabled agent, with a receipt for each. */
import { useRef, useState } from 'preact/hooks'
import { limits, type SnapshotAgent } from '../../../../../sdk/browser.ts'
import { freshKey } from '../../clock.ts'
import { owner } from '../../owner.ts'
import { Mark } from '../../parts/marks.tsx'
import { useSubmitting } from '../../parts/submitting.ts'
import { Visible } from '../../text/visible.tsx'
import { plural } from '../../words/plural.ts'
import { refusedBecause } from '../../words/refusals.ts'

interface Props {
  readonly project: string
  readonly agents: readonly SnapshotAgent[]
}

interface Receipt {
  readonly agent: SnapshotAgent
  /** Address of the stored message, or the reason why there is none. */
  readonly path?: string
  readonly refused?: string
}

export function MessageAll({ project, agents }: Props) {
  const [isOpen, open] = useState(false)
  const [body, setBody] = useState('')
  const [receipts, setReceipts] = useState<readonly Receipt[]>([])
  // One key for each agent, kept until its message is stored: a second try sends only what is missing. Each text
  // has keys of its own.
  const keys = useRef(new Map<string, string>())
  // Keys of the text that the receipts are for.
  const sentWith = useRef(keys.current)
  const enabled = agents.filter(({ state }) => state === 'enabled')
  const send = async (agent: SnapshotAgent): Promise<Receipt> => {
    const idempotencyKey = sentWith.current.get(agent.id) ?? freshKey()
    sentWith.current.set(agent.id, idempotencyKey)
    try {
      const input = { recipient_agent_id: agent.id, type: 'note' as const, body }
      const { conversation_id, sequence } = await owner.messages.send(project, input, { idempotencyKey })
      return { agent, path: `/projects/${project}/conversations/${conversation_id}?at=${sequence}` }
    } catch (error) {
      return { agent, refused: refusedBecause(error).words }
    }
  }
  const { isBusy, submit } = useSubmitting(async () => {
    const known = sentWith.current === keys.current ? receipts : []
    sentWith.current = keys.current
    const done = new Map(known.filter(({ path }) => path !== undefined).map((each) => [each.agent.id, each]))
    setReceipts([...done.values()])
    for (const agent of enabled) {
      if (!done.has(agent.id)) done.set(agent.id, await send(agent))
      setReceipts([...done.values()])
    }
    const missing = [...done.values()].filter(({ path }) => path === undefined)
    // A text that was changed meanwhile is the next note.
    if (missing.length === 0 && sentWith.current === keys.current) {
      keys.current = new Map()
      setBody('')
    }
  })
  const change = (text: string) => {
    keys.current = new Map()
    if (!isBusy) setReceipts([])
    setBody(text)
  }
  if (enabled.length < 2) return null
  if (!isOpen)
    return (
      <p>
        <button type="button" class="quiet" onClick={() => open(true)}>
          Message all agents
        </button>
      </p>
    )
  return (
    <section aria-labelledby="message-all">
      <h2 id="message-all">Message all agents</h2>
      <form class="write" onSubmit={submit}>
        <label>
          <span class="label">Note to {plural(enabled.length, 'agent')}</span>
          <textarea
            required
            rows={3}
            maxLength={limits.messageBodyBytes}
            value={body}
            onInput={({ currentTarget }) => change(currentTarget.value)}
          />
        </label>
        <p class="actions">
          <button type="submit" disabled={isBusy}>
            {isBusy ? `Sending… ${receipts.length} of ${enabled.length}` : 'Send to all'}
          </button>
          <button type="button" class="quiet" disabled={isBusy} onClick={() => open(false)}>
            Close
          </button>
        </p>
      </form>
      <ul class="receipts" aria-label="Receipts">
        {receipts.map(({ agent, path, refused }) => (
          <li key={agent.id}>
            <Mark name={path === undefined ? 'alert' : 'stored'} /> <Visible text={agent.name} />{' '}
            {path === undefined ? <span class="fault">{refused}</span> : <a href={path}>stored</a>}
          </li>
        ))}
      </ul>
    </section>
  )
}
