/**
 * Runs a tool as a command of the profile, in this process. It returns what the command would print.
 *
 * Each call opens the profile again, so it acts with the identity and the session that are stored now. Calls
 * share the connections to the node.
 */
import { Readable, Writable } from 'node:stream'
import { neutralize, oneLine } from '../../sdk/plain-text.ts'
import type { CliContext } from '../context.ts'
import { createContext } from '../create-context.ts'
import { exitCodes } from '../exit-codes.ts'
import type { ExitReport } from '../failures/exit-report.ts'
import { failureReport } from '../failures/failure-report.ts'
import type { Params } from './protocol/json-rpc.ts'
import type { ToolResult } from './protocol/server.ts'
import { asTool } from './tool-words.ts'
import { page } from './tools/result.ts'
import type { Tool } from './tools/tool.ts'

/**
 * Below the time limits of harnesses, of which 60 seconds is the shortest. Files take as long as they need.
 */
const usualPatienceMs = 50_000

export interface ToolCall {
  readonly tool: Tool
  readonly given: Params
  /** Aborted if the client cancels the call. */
  readonly cancelled: AbortSignal
  /** Time limit in milliseconds, 50,000 by default. */
  readonly patienceMs?: number
}

/** Runs the tool. A failure is a result with `isError`: the name of its exit code, the reason, and a hint. */
export async function callTool(parent: CliContext, call: ToolCall): Promise<ToolResult> {
  const printed = new Printed()
  const interruption = new AbortController()
  const { tool, given, cancelled, patienceMs = usualPatienceMs } = call
  const context = contextOf(parent, call, { printed, interruption })
  const isFile = tool.definition.name === 'files'
  const end = isFile ? cancelled : AbortSignal.any([cancelled, AbortSignal.timeout(patienceMs)])
  const abort = () => interruption.abort()
  end.addEventListener('abort', abort, { once: true })
  if (end.aborted) abort()
  try {
    await tool.run(context, given)
    const from = typeof given.line === 'number' ? given.line : 1
    return result(
      page(printed.text.trimEnd(), { from, again: (next) => `the same call with "line": ${next}` }),
    )
  } catch (error) {
    const text = reportText(await reportOf(error, context, patienceMs), context)
    return { ...result(page(`${text}\n${printed.text}`.trimEnd())), isError: true }
  } finally {
    end.removeEventListener('abort', abort)
  }
}

const result = (text: string): ToolResult => ({ content: [{ type: 'text', text }] })

/** Everything that a command prints, in order. */
class Printed extends Writable {
  text = ''

  constructor() {
    super({ decodeStrings: false })
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    this.text += text
    done()
  }
}

interface Parts {
  readonly printed: Printed
  readonly interruption: AbortController
}

/** Returns a context like that of a command. Its standard input is the text of the call. */
function contextOf(
  parent: CliContext,
  { tool, given }: ToolCall,
  { printed, interruption }: Parts,
): CliContext {
  const { environment, clock, random, home, settings } = parent
  const context = createContext({
    // A command drops the line end that a shell adds.
    streams: { stdin: Readable.from([`${String(given.text)}\n`]), stdout: printed, stderr: printed },
    environment: { ...environment, BRIDGE_HOME: home },
    clock,
    random,
    homeDirectory: home,
    interruption,
    fetch: () => parent.fetch(),
    wholeIds: true,
    spell: asTool,
  })
  const current = { words: 'mcp', options: [], arguments: tool.names }
  context.configure({ profile: settings.profile }, { onlyPrints: false, current })
  return context
}

async function reportOf(error: unknown, context: CliContext, patienceMs: number): Promise<ExitReport> {
  const { code, message } = error as { readonly code?: unknown; readonly message?: string }
  if (context.signal.aborted) {
    return { exit: 'unreachable', message: `the call did not end within ${patienceMs / 1000} seconds` }
  }
  if (code === 'commander.invalidArgument') return { exit: 'usage', message: message ?? '' }
  return failureReport(error, context)
}

function reportText({ exit, message = '', hint }: ExitReport, { keptIds, typed }: CliContext): string {
  const kept = keptIds.at(-1)
  const keptWords = `the outbox keeps it as ${kept} and sends it with the next change: do not repeat the call`
  const words = kept === undefined ? hint : keptWords
  const lines = [
    `${exit} (exit code ${exitCodes[exit]}): ${oneLine(asTool(message))}`,
    ...(words === undefined ? [] : [`hint: ${oneLine(typed(words))}`]),
  ]
  return lines.map(neutralize).join('\n')
}
