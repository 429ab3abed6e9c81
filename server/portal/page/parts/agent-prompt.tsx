/** The prompt of an agent with its copy button, shown once. */
import type { EnrollmentIssued } from '../../../../sdk/browser.ts'
import { Visible } from '../text/visible.tsx'
import { timeOfDay } from '../words/time.ts'
import { OnceOnly } from './once-only.tsx'
import { type Secret, secretOf } from './secret.ts'

/** A new enrolment. It has no prompt once the code is used. */
export interface Issued extends Omit<EnrollmentIssued, 'prompt'> {
  readonly prompt?: Secret
}

export const issuedOf = ({ prompt, ...facts }: EnrollmentIssued): Issued => ({
  ...facts,
  prompt: secretOf(prompt),
})

export const withoutPrompt = ({ prompt: _prompt, ...facts }: Issued): Issued => facts

interface Props {
  readonly name: string
  readonly prompt: Secret
  readonly expiresAt: string
  /** True once the agent has used the code. */
  readonly isUsed: boolean
  readonly hasClose?: boolean
  /** Removes the prompt from the state of the screen. */
  readonly drop: () => void
}

export function AgentPrompt({ name, prompt, expiresAt, ...more }: Props) {
  return (
    <OnceOnly
      label={
        <>
          Prompt of <Visible text={name} />
        </>
      }
      copyLabel={
        <>
          Copy <Visible text={name} />
          's prompt
        </>
      }
      secret={prompt}
      note={`It works once and is shown once, until ${timeOfDay(Date.parse(expiresAt))}.`}
      {...more}
    />
  )
}
