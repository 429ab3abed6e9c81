/** Rewrites hints that name commands and options, so that they name tools and arguments. */

const rewritten: readonly (readonly [RegExp, string])[] = [
  [/^to resume: (?:agent-)?bridge transfer .*$/, 'repeat the call to resume'],
  [/\b(?:agent-)?bridge (inbox|send|reply|ack|history|peers)\b/g, 'the tool $1'],
  [/\b(?:agent-)?bridge status\b/g, 'the tool history'],
  [/\b(?:agent-)?bridge whoami\b/g, 'the tool peers'],
  [/\b(?:agent-)?bridge task ([a-z]+)\b/g, 'the tool task with action $1'],
  [
    /\b(?:agent-)?bridge transfer (list|show|send|receive|decline|cancel)\b/g,
    'the tool files with action $1',
  ],
  [/<([a-z_]+)>/g, '"$1"'],
]

/** Arguments whose name differs from that of the option. */
const renamed: Readonly<Record<string, string>> = { key: 'idempotency_key', 'expects-reply-by': 'reply_by' }

/** A hint that still names a command is for a person at a terminal, and keeps its options. */
export function asTool(text: string): string {
  const words = rewritten.reduce((whole, [command, tool]) => whole.replace(command, tool), text)
  if (/\b(?:agent-)?bridge [a-z]/.test(words)) return words
  return words.replace(
    /--([a-z]+(?:-[a-z]+)*)/g,
    (_, option: string) => `"${renamed[option] ?? option.replaceAll('-', '_')}"`,
  )
}
