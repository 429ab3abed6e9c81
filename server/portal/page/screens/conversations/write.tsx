/**
 * Form with which the owner writes. The key is made when writing begins and kept until the node answers, so a
 * second press of the button stores no second message.
 */
import { useRef, useState } from 'preact/hooks'
import { limits, type Message } from '../../../../../sdk/browser.ts'
import { freshKey } from '../../clock.ts'
import { owner } from '../../owner.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { useSubmitting } from '../../parts/submitting.ts'

const types = ['note', 'question', 'answer'] as const

interface Props {
  readonly project: string
  readonly conversation?: string | undefined
  readonly to: readonly { readonly id: string; readonly name: string }[]
  readonly sent: (message: Message) => void
}

export function Write({ project, conversation, to, sent }: Props) {
  const [body, setBody] = useState('')
  const [type, setType] = useState<(typeof types)[number]>('note')
  const [recipient, setRecipient] = useState(to[0]?.id ?? '')
  const key = useRef(freshKey())
  const bytes = new TextEncoder().encode(body).length
  const { isBusy, error, submit } = useSubmitting(async () => {
    const where = conversation === undefined ? {} : { conversation_id: conversation }
    const input = { recipient_agent_id: recipient, ...where, type, body }
    const message = await owner.messages.send(project, input, { idempotencyKey: key.current })
    key.current = freshKey()
    setBody('')
    sent(message)
  })
  const change = (text: string) => {
    // Another text is another message, unless the fate of the last one is unknown.
    if (error === undefined) key.current = freshKey()
    setBody(text)
  }
  return (
    <form class="write" onSubmit={submit}>
      <p class="inline">
        <label>
          <span class="label">To</span>
          <select value={recipient} onInput={({ currentTarget }) => setRecipient(currentTarget.value)}>
            {to.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="label">Type</span>
          <select
            value={type}
            onInput={({ currentTarget }) =>
              setType(types.find((each) => each === currentTarget.value) ?? 'note')
            }
          >
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </p>
      <label>
        <span class="label">Message</span>
        <textarea
          required
          rows={3}
          value={body}
          onInput={({ currentTarget }) => change(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
              event.currentTarget.form?.requestSubmit()
          }}
        />
      </label>
      <Refusal error={error} />
      <p class="actions">
        <button type="submit" disabled={isBusy || bytes > limits.messageBodyBytes}>
          {isBusy ? 'Sending…' : 'Send'}
        </button>
        <span class="meta">
          Ctrl+Enter sends
          {bytes > limits.messageBodyBytes / 2 &&
            ` · ${Math.ceil(bytes / 1024)} of ${limits.messageBodyBytes / 1024} KiB`}
        </span>
      </p>
    </form>
  )
}
