/** Standard input of each hook, as the harnesses were recorded to write it. */
import { type HarnessName, momentOf } from '../harnesses.ts'
import type { Handler } from './handlers.ts'

export interface InputFacts {
  readonly harness: HarnessName
  readonly session: string
  readonly folder: string
}

/** Returns the input of a hook. Field names differ between harnesses; our hooks ignore the unknown ones. */
export function inputOf({ event, runs }: Handler, { harness, session, folder }: InputFacts): string {
  const moment = momentOf(harness, runs === 'wait' ? event : runs)
  return JSON.stringify({
    session_id: session,
    transcript_path: `${folder}/transcript.jsonl`,
    cwd: folder,
    hook_event_name: event,
    ...(moment === 'start' && { source: 'startup' }),
    ...(moment === 'prompt' && { prompt: 'hello' }),
    ...((moment === 'tool' || moment === 'permission') && {
      tool_name: 'Bash',
      tool_input: { command: 'agent-bridge inbox', description: 'Read mail' },
    }),
    ...(moment === 'tool' && { tool_response: { stdout: '', stderr: '' } }),
    ...(moment === 'stop' && { stop_hook_active: false, last_assistant_message: 'done' }),
    ...(moment === 'end' && { reason: 'other' }),
  })
}
