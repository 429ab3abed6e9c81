/**
 * Form with which the owner writes. The key is made when writing begins and kept until the node answers, so a
 * second press of the button stores no second message.
 */
import type { Signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import {
  BridgeError,
  isOutcomeUnknown,
  LocalError,
  limits,
  type Message,
} from '../../../../../sdk/browser.ts'
import { freshKey } from '../../clock.ts'
import { answers as answersOfNode, owner } from '../../owner.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { useSubmitting } from '../../parts/submitting.ts'
import { plainName } from '../../text/plain-name.ts'
import { plural } from '../../words/plural.ts'
import { type Draft, emptyDraft, types } from './drafts.ts'

const delays: readonly (readonly [minutes: number, words: string])[] = [
  [10, '10 minutes'],
  [60, '1 hour'],
  [240, '4 hours'],
  [1440, '1 day'],
]

interface Props {
  readonly project: string
  readonly conversation?: string | undefined
  readonly to: readonly { readonly id: string; readonly name: string }[]
  readonly draft: Signal<Draft>
  /** The node's present time. */
  readonly nowMs: () => number
  readonly sent: (message: Message) => void
}

export function Write({ project, conversation, to, draft, nowMs, sent }: Props) {
  const { body, type, recipient, answers, delay } = draft.value
  // Number of answers at the last failure.
  const failedAt = useRef(0)
  const bytes = new TextEncoder().encode(body).length
  const { isBusy, error, submit } = useSubmitting(async () => {
    const told = fixed(draft.value, nowMs())
    draft.value = told
    try {
      const message = await owner.messages.send(project, inputOf(told, conversation), {
        idempotencyKey: told.key,
      })
      const now = draft.value
      // A text that was changed meanwhile is the next message.
      draft.value = { ...emptyDraft(now.recipient), ...(now.body !== told.body && { body: now.body }) }
      sent(message)
    } catch (failure) {
      const isUnsure = told.isUnsure || isOutcomeUnknown(failure)
      if (isUnsure) draft.value = { ...draft.value, key: told.key, isUnsure }
      else draft.value = { ...draft.value, replyBy: undefined }
      failedAt.current = answersOfNode.peek()
      // The earlier text is stored. The present one is another message.
      if (failure instanceof BridgeError && failure.code === 'idempotency_conflict')
        draft.value = { ...draft.value, key: freshKey(), replyBy: undefined, isUnsure: false }
      throw failure
    }
  })
  const change = (fields: Partial<Draft>) => {
    const next = draft.value.isUnsure ? {} : { key: freshKey(), replyBy: undefined }
    draft.value = { ...draft.value, ...next, ...fields }
  }
  return (
    <form class="write" onSubmit={submit}>
      <p class="inline">
        <label>
          <span class="label">To</span>
          <select
            value={recipient}
            onInput={({ currentTarget }) => change({ recipient: currentTarget.value, answers: undefined })}
          >
            {to.map(({ id, name }) => (
              <option key={id} value={id}>
                {plainName(name)}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="label">Type</span>
          <select
            value={type}
            onInput={({ currentTarget }) =>
              change({ type: types.find((each) => each === currentTarget.value) ?? 'note' })
            }
          >
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        {type === 'question' && (
          <label>
            <span class="label">Reply by</span>
            <select
              value={delay}
              onInput={({ currentTarget }) => change({ delay: currentTarget.value, replyBy: undefined })}
            >
              <option value="">no time</option>
              {delays.map(([minutes, words]) => (
                <option key={minutes} value={minutes}>
                  in {words}
                </option>
              ))}
            </select>
          </label>
        )}
      </p>
      {answers !== undefined && (
        <p class="actions">
          Answer to #{answers.sequence}
          <button type="button" class="quiet small" onClick={() => change({ answers: undefined })}>
            Not an answer to it
          </button>
        </p>
      )}
      <label>
        <span class="label">Message</span>
        <textarea
          id="write"
          required
          rows={3}
          value={body}
          onInput={({ currentTarget }) => change({ body: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
              event.currentTarget.form?.requestSubmit()
          }}
        />
      </label>
      {isSilent(error) && answersOfNode.value > failedAt.current ? (
        <p class="meta">The node answers again. Send your text again: it takes effect once.</p>
      ) : (
        <Refusal error={error} />
      )}
      <p class="actions">
        <button type="submit" disabled={isBusy || bytes > limits.messageBodyBytes}>
          {isBusy ? 'Sending…' : 'Send'}
        </button>
        <span class={bytes > limits.messageBodyBytes ? 'fault' : 'meta'}>
          {bytes > limits.messageBodyBytes ? tooLong(bytes - limits.messageBodyBytes) : 'Ctrl+Enter sends'}
          {bytes > limits.messageBodyBytes / 2 &&
            bytes <= limits.messageBodyBytes &&
            ` · ${Math.ceil(bytes / 1024)} of ${limits.messageBodyBytes / 1024} KiB`}
        </span>
      </p>
    </form>
  )
}

/** Counts the time for a reply from the first try of a message. */
function fixed(draft: Draft, nowMs: number): Draft {
  if (draft.delay === '' || draft.replyBy !== undefined) return draft
  return { ...draft, replyBy: new Date(nowMs + Number(draft.delay) * 60_000).toISOString() }
}

const isSilent = (error: unknown): boolean => error instanceof LocalError && isOutcomeUnknown(error)

const tooLong = (bytes: number): string =>
  `${bytes < 1024 ? plural(bytes, 'byte') : `${(bytes / 1024).toFixed(1)} KiB`} too long. Send a file, or shorten it.`

function inputOf({ body, type, recipient, answers, replyBy }: Draft, conversation: string | undefined) {
  return {
    recipient_agent_id: recipient,
    type,
    body,
    ...(conversation !== undefined && { conversation_id: conversation }),
    ...(answers !== undefined && { in_reply_to: answers.id }),
    ...(type === 'question' && replyBy !== undefined && { expects_reply_by: replyBy }),
  }
}
