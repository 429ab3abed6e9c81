/** Standard input of a hook: one JSON object of the harness. Unknown fields are ignored. */
import { HookFailure } from './context.ts'
import { type Harness, type HarnessName, harnesses } from './harnesses.ts'

export interface HookInput {
  readonly fields: Readonly<Record<string, unknown>>
  /** Id of the harness session, safe in a file name. */
  readonly sessionId: string
  /** Working folder of the session, if the harness names it. */
  readonly folder: string | undefined
  /** Whether a subagent caused the event. */
  readonly isSubagent: boolean
  /** Whether a hook has already continued this turn. */
  readonly isContinued: boolean
}

/** Longest standard input that is read. */
export const longestInput = 1_000_000

const idForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** @throws HookFailure */
export function parseInput(harness: HarnessName, text: string): HookInput {
  const fields = objectOf(text)
  const { sessionFields }: Harness = harnesses[harness]
  const sessionId = sessionFields.map((name) => fields[name]).find((value) => value !== undefined)
  if (typeof sessionId !== 'string' || !idForm.test(sessionId))
    throw new HookFailure('invalid_input', 'standard input names no session')
  return {
    fields,
    sessionId,
    folder: typeof fields.cwd === 'string' ? fields.cwd : undefined,
    isSubagent: fields.agent_id !== undefined && fields.agent_id !== null,
    isContinued: fields.stop_hook_active === true,
  }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // The parser's message would repeat the input.
  }
  throw new HookFailure('invalid_input', 'standard input is not a JSON object')
}
