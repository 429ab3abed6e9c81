/**
 * Coding-agent harnesses that can run our hooks: the names of their events, the fields on standard input, and
 * the form of a hook's output. The facts were measured with Claude Code 2.1.330, Codex 0.169, Gemini CLI 0.61,
 * opencode 1.18 and Copilot CLI 1.0.102.
 *
 * This file imports nothing, because a hook that runs after every tool loads it.
 */

/** Moments of a session at which a hook acts. */
export type Moment =
  /** A session starts, resumes, or begins a new context. */
  | 'start'
  /** The user's prompt is about to be sent to the model. */
  | 'prompt'
  /** A tool has run. The hook reads the waiter's file, so only a harness with a waiter has it. */
  | 'tool'
  /** A turn is about to end. */
  | 'stop'
  /** The session ends. */
  | 'end'
  /** A tool is about to run. The hook may answer the permission prompt. */
  | 'permission'
  /** The background process that waits for mail. */
  | 'wait'

/** How a waiter wakes an idle session. */
export type Wake =
  /** Exit 2 with the notice on standard error (Claude Code: `asyncRewake`). */
  | 'exit'
  /** A prompt in the harness's own queue (`codex queue`). */
  | 'queue'
  /** JSON on standard output, which our plugin hands to the session. */
  | 'print'

export interface Harness {
  readonly title: string
  /** Moment of each event, by the name that the harness gives it. Other events do nothing. */
  readonly events: Readonly<Record<string, Moment>>
  /** Fields on standard input that can hold the id of the session. */
  readonly sessionFields: readonly string[]
  /** Absent if no hook of the harness can wake an idle session. */
  readonly wake?: Wake
  /** Standard output that adds the text to the model's context, or continues the turn at `stop`. */
  readonly output: (moment: Moment, event: string, text: string) => object
}

const inContext = (hookEventName: string, additionalContext: string): object => ({
  hookSpecificOutput: { hookEventName, additionalContext },
})

/** Continues a turn that is about to end; `reason` becomes the next prompt. */
const refusing = (decision: 'block' | 'deny', reason: string): object => ({ decision, reason })

export const harnesses = {
  claude: {
    title: 'Claude Code',
    events: {
      SessionStart: 'start',
      UserPromptSubmit: 'prompt',
      PreToolUse: 'permission',
      PostToolUse: 'tool',
      Stop: 'stop',
      SessionEnd: 'end',
      wait: 'wait',
    },
    sessionFields: ['session_id'],
    wake: 'exit',
    // At Stop the model sees additionalContext once, without the word "error". Before 2.1.224 it is ignored.
    output: (_moment, event, text) => inContext(event, text),
  },
  codex: {
    title: 'Codex',
    events: {
      SessionStart: 'start',
      UserPromptSubmit: 'prompt',
      PostToolUse: 'tool',
      Stop: 'stop',
      SessionEnd: 'end',
      wait: 'wait',
    },
    sessionFields: ['session_id'],
    wake: 'queue',
    output: (moment, event, text) => (moment === 'stop' ? refusing('block', text) : inContext(event, text)),
  },
  gemini: {
    title: 'Gemini CLI',
    events: {
      SessionStart: 'start',
      BeforeAgent: 'prompt',
      AfterAgent: 'stop',
      SessionEnd: 'end',
    },
    sessionFields: ['session_id'],
    output: (moment, event, text) => (moment === 'stop' ? refusing('deny', text) : inContext(event, text)),
  },
  opencode: {
    title: 'opencode',
    // The events of opencode's plugin API. Our plugin runs a hook for each, with session_id and cwd as JSON.
    events: {
      'session.created': 'start',
      'chat.message': 'prompt',
      'tool.execute.after': 'tool',
      'session.idle': 'stop',
      'session.deleted': 'end',
      wait: 'wait',
    },
    sessionFields: ['session_id'],
    wake: 'print',
    output: (_moment, _event, notice) => ({ notice }),
  },
  copilot: {
    title: 'Copilot CLI',
    // Event names in this form select the fields that Claude Code has too.
    events: {
      SessionStart: 'start',
      UserPromptSubmit: 'prompt',
      Stop: 'stop',
      SessionEnd: 'end',
    },
    sessionFields: ['session_id', 'sessionId'],
    output: (moment, _event, text) =>
      moment === 'stop' ? refusing('block', text) : { additionalContext: text },
  },
} as const satisfies Readonly<Record<string, Harness>>

export type HarnessName = keyof typeof harnesses
export const harnessNames = Object.keys(harnesses) as readonly HarnessName[]

export const isHarness = (name: string): name is HarnessName => Object.hasOwn(harnesses, name)

/** Returns the moment of an event, or undefined if our hooks do nothing at this event. */
export function momentOf(harness: HarnessName, event: string): Moment | undefined {
  const { events }: Harness = harnesses[harness]
  return Object.hasOwn(events, event) ? events[event] : undefined
}
