/** `hooks.jsonl`: one line for each hook that failed, and for each notice. The last 1 MB is kept. */
import { appendFileSync, chmodSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'

/** Contains neither a body nor a title of a message. */
export interface LogLine {
  readonly at: string
  readonly harness: string
  readonly event: string
  /** Name of the outcome: `noticed`, `woke`, or the code of a failure. */
  readonly outcome: string
  readonly failed: boolean
  readonly message?: string
  readonly ms: number
}

const keptBytes = 1_000_000

/** Appends a line. If that fails, the hook has nowhere to report it. */
export function appendLog(path: string, line: LogLine): void {
  try {
    appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: 0o600 })
    if (statSync(path).size > keptBytes) halve(path)
  } catch {
    // No profile folder, a full or read-only disk.
  }
}

/** Keeps the newer half. A line that another process appends meanwhile may be lost. */
function halve(path: string): void {
  const bytes = readFileSync(path)
  const from = bytes.indexOf(0x0a, bytes.length - keptBytes / 2) + 1
  const draft = `${path}.${process.pid}.tmp`
  writeFileSync(draft, bytes.subarray(from), { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}

/** Returns the lines of a log, without those that are damaged. */
export function readLog(path: string): LogLine[] {
  const lines: LogLine[] = []
  for (const text of textOf(path).split('\n')) {
    try {
      const line = JSON.parse(text) as LogLine | null
      if (typeof line?.at === 'string' && typeof line.outcome === 'string') lines.push(line)
    } catch {
      // An empty last line, or one that a full disk cut off.
    }
  }
  return lines
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
