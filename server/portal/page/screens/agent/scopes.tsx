/** Checkboxes for the scopes of a credential: none, reading, or all of each kind. */

import type { EnrollmentInput } from '../../../../../sdk/browser.ts'
import { Choice } from '../../parts/choice.tsx'

type Scope = NonNullable<EnrollmentInput['scopes']>[number]

const nouns = ['messages', 'tasks', 'transfers'] as const

type Rights = Readonly<Record<(typeof nouns)[number], 'all' | 'read' | 'none'>>

export const allRights: Rights = { messages: 'all', tasks: 'all', transfers: 'all' }

/** Returns the scopes of a choice. The node refuses an empty list. */
export const scopesOf = (rights: Rights): Scope[] =>
  nouns.flatMap((noun): Scope[] =>
    rights[noun] === 'none' ? [] : [rights[noun] === 'all' ? noun : `${noun}:read`],
  )

interface Props {
  readonly rights: Rights
  readonly change: (rights: Rights) => void
}

export function Scopes({ rights, change }: Props) {
  return (
    <fieldset>
      <legend>It may use</legend>
      <div class="inline">
        {nouns.map((noun) => (
          <Choice
            key={noun}
            label={noun}
            value={rights[noun]}
            options={[
              ['all', 'read and write'],
              ['read', 'read'],
              ['none', 'nothing'],
            ]}
            change={(to) => change({ ...rights, [noun]: to })}
          />
        ))}
      </div>
    </fieldset>
  )
}
