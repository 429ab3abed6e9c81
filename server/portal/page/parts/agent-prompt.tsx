/** The prompt of an agent with its copy button, shown once. */
import type { EnrollmentIssued } from '../../../../sdk/browser.ts'
import { Visible } from '../text/visible.tsx'
import { timeOfDay } from '../words/time.ts'
import { OnceOnly } from './once-only.tsx'

interface Props {
  readonly name: string
  readonly issued: Pick<EnrollmentIssued, 'prompt' | 'expires_at'>
  /** True once the agent has used the code. */
  readonly isUsed: boolean
  readonly hasClose?: boolean
  /** Removes the prompt from the state of the screen. */
  readonly drop: () => void
}

export function AgentPrompt({ name, issued: { prompt, expires_at }, ...more }: Props) {
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
      note={`It works once and is shown once, until ${timeOfDay(Date.parse(expires_at))}.`}
      {...more}
    />
  )
}
