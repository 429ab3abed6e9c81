/** Choice of the environment of an agent: one of the project, none, or a new one. */
import { useState } from 'preact/hooks'
import type { Environment } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { Choice } from '../../parts/choice.tsx'
import { Field } from '../../parts/field.tsx'
import { plainName } from '../../text/plain-name.ts'

const kinds = ['laptop', 'server', 'container', 'ci', 'other'] as const

export interface EnvironmentDraft {
  /** Id of an environment, empty for none, or `new`. */
  readonly id: string
  readonly name: string
  readonly kind: (typeof kinds)[number]
}

export const draftOf = (id: string | null): EnvironmentDraft => ({ id: id ?? '', name: '', kind: 'laptop' })

/** Returns the id of the chosen environment after making a new one, or null for none. */
export async function environmentOf(project: string, draft: EnvironmentDraft): Promise<string | null> {
  if (draft.id !== 'new') return draft.id === '' ? null : draft.id
  return (await owner.environments.create(project, { name: draft.name.trim(), kind: draft.kind })).id
}

interface Props {
  readonly environments: readonly Environment[]
  readonly draft: EnvironmentDraft
  readonly change: (draft: EnvironmentDraft) => void
  readonly fault?: string | undefined
}

export function EnvironmentChoice({ environments, draft, change, fault }: Props) {
  const [options] = useState(() => kinds.map((kind) => [kind, kind] as const))
  return (
    <>
      <Choice
        label="Environment"
        value={draft.id}
        options={[
          ['', 'none'],
          ...environments.map(({ id, name, kind }) => [id, `${plainName(name)} (${kind})`] as const),
          ['new', 'New environment…'],
        ]}
        change={(id) => change({ ...draft, id })}
        hint="Where the agent runs"
      />
      {draft.id === 'new' && (
        <>
          <Field
            label="Name of the environment"
            required
            maxLength={80}
            value={draft.name}
            change={(name) => change({ ...draft, name })}
            fault={fault}
          />
          <Choice
            label="Kind"
            value={draft.kind}
            options={options}
            change={(kind) => change({ ...draft, kind })}
          />
        </>
      )}
    </>
  )
}
