/**
 * Work instructions of an agent, beside the text that it gets.
 *
 * Saving names the version that was read. If somebody else saved another one since, both are shown, and nothing
 * is overwritten before the owner has chosen.
 */
import { useState } from 'preact/hooks'
import { type AgentInstructionPreview, BridgeError, limits } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { MarkedDifference } from '../../parts/marked-difference.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { SaveOrUndo } from '../../parts/save-or-undo.tsx'
import { Section } from '../../parts/section.tsx'
import { useSubmitting } from '../../parts/submitting.ts'
import { bytesOf, TextArea } from '../../parts/text-area.tsx'
import { note } from '../../parts/toast.tsx'
import { useOne } from '../../parts/whole.ts'
import { Visible } from '../../text/visible.tsx'
import { exact } from '../../words/time.ts'
import type { About } from './about.ts'

export function Instructions({ project, agent, live }: About) {
  const { id, name } = agent
  const read = useOne(`instructions ${id}`, (options) => owner.agents.instructions(project, id, options), {
    live,
    kinds: ['agent.', 'project.changed'],
  })
  const saved = read.items.value?.[0]?.value
  return (
    <Section id="instructions" title="Instructions">
      <p class="meta">
        <Visible text={name} /> reads them at its next start.
      </p>
      <Refusal error={read.error.value} />
      {saved !== undefined && (
        <Editor
          saved={saved}
          save={(text, ifUpdatedAt) => owner.agents.setInstructions(project, id, text, { ifUpdatedAt })}
          refresh={read.refresh}
        />
      )}
    </Section>
  )
}

interface EditorProps {
  /** As the node has them now. */
  readonly saved: AgentInstructionPreview
  readonly save: (text: string, ifUpdatedAt: string | null) => Promise<AgentInstructionPreview>
  readonly refresh: () => Promise<void>
}

interface Draft {
  readonly text: string
  /** The version that the draft began with. */
  readonly base: AgentInstructionPreview
}

function Editor({ saved, save, refresh }: EditorProps) {
  // Without a draft, the field follows what the node has.
  const [draft, setDraft] = useState<Draft>()
  const { text, base } = draft ?? { text: saved.instructions, base: saved }
  const isChanged = text !== base.instructions
  const isConflict = isChanged && saved.updated_at !== base.updated_at && text !== saved.instructions
  const take = () => setDraft(undefined)
  const { isBusy, error, submit } = useSubmitting(async () => {
    try {
      const done = await save(text, base.updated_at)
      note('Saved. The agent reads the instructions at its next start.')
      await refresh()
      setDraft((now) => (now === undefined || now.text === text ? undefined : { text: now.text, base: done }))
    } catch (failure) {
      if (!(failure instanceof BridgeError && failure.code === 'state_conflict')) throw failure
      await refresh()
    }
  })
  return (
    <form class="instructions" onSubmit={submit}>
      <div class="sides-by-side">
        <TextArea
          label="Work instructions"
          rows={14}
          value={text}
          change={(to) => setDraft(to === base.instructions ? undefined : { text: to, base })}
          maxBytes={limits.promptBytes}
        />
        <div class="field">
          <strong>
            {isChanged ? 'As the agent gets them, with your changes marked' : 'As the agent gets them'}
          </strong>
          <MarkedDifference
            before={base.rendered}
            after={isChanged ? renderedWith(base, text) : base.rendered}
          />
          <span class="meta">
            {base.updated_at === null ? 'Nothing saved yet' : `Saved ${exact(base.updated_at)}`}
          </span>
        </div>
      </div>
      {isConflict && (
        <div class="conflict" role="alert">
          <p>
            Somebody else saved other instructions
            {saved.updated_at !== null && `, ${exact(saved.updated_at)}`}. Choose one, or change yours.
          </p>
          <div class="sides-by-side">
            <TextOf title="Theirs" text={saved.instructions} />
            <TextOf title="Yours" text={text} />
          </div>
          <p class="actions">
            <button type="button" class="quiet" onClick={take}>
              Take theirs
            </button>
            <button type="button" class="quiet" onClick={() => setDraft({ text, base: saved })}>
              Keep mine
            </button>
          </p>
        </div>
      )}
      <Refusal error={error} />
      <SaveOrUndo
        isBusy={isBusy}
        isChanged={isChanged && !isConflict}
        isTooLong={bytesOf(text) > limits.promptBytes}
        undo={take}
      />
    </form>
  )
}

function TextOf({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div class="field">
      <strong>{title}</strong>
      <MarkedDifference before={text} after={text} />
    </div>
  )
}

/** The node appends the instructions to the rest of the text, after an empty line. */
function renderedWith({ rendered, instructions }: AgentInstructionPreview, text: string): string {
  const rest = instructions === '' ? rendered : rendered.slice(0, -instructions.length - 2)
  return text === '' ? rest : `${rest}\n\n${text}`
}
