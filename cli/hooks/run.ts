/**
 * `hooks run <harness> <event>`: runs one hook.
 *
 * Every failure ends with 0 and without output, because a hook must never stop the work of a session. Exit 2
 * would block a tool or wake the session, and text on standard output would reach the model. The failure is
 * one line of the log. Contract §12.
 */
import { realpathSync } from 'node:fs'
import { isProfileName } from '../../sdk/profile/profile-files.ts'
import { type HookContext, HookFailure } from './context.ts'
import { endSession } from './end-hook.ts'
import { failureOf } from './failure.ts'
import { touch, touchedAt } from './files.ts'
import { type Harness, type HarnessName, harnesses, isHarness, type Moment, momentOf } from './harnesses.ts'
import { appendLog } from './hook-log.ts'
import { type HookInput, parseInput } from './input.ts'
import type { HookExit, HookNote, HookParts } from './parts.ts'
import { permissionOutput, readsOwnMail } from './permission.ts'
import { homeLog } from './places.ts'
import { type HookSession, openSession } from './session.ts'
import { tellBetweenTools } from './tool-hook.ts'
import { tellAtPrompt, tellAtStart, tellAtStop } from './turn-hooks.ts'
import { waitForMail } from './wait-hook.ts'

/** Runs a hook; `words` follow `hooks run`. Never throws. */
export async function runHook(context: HookContext, words: readonly string[]): Promise<HookExit> {
  const { harness, event, profile } = parseWords(words)
  let log = homeLog(context.home)
  const note: HookNote = (outcome, failure) => {
    const { code, message } =
      failure === undefined ? { code: outcome, message: undefined } : failureOf(failure)
    appendLog(log, {
      at: context.clock().toISOString(),
      harness: harness.slice(0, 40),
      event: event.slice(0, 40),
      outcome: code,
      failed: failure !== undefined,
      ...(message === undefined ? {} : { message }),
      ms: Math.round(context.elapsedMs()),
    })
  }
  try {
    const text = await context.input()
    if (!isHarness(harness)) throw new HookFailure('unknown_harness', 'there are no hooks for this harness')
    const moment = momentOf(harness, event)
    if (moment === undefined) return 0
    const input = parseInput(harness, text)
    if (!concernsUs(context, harness, input)) return 0
    const session = openSession(context, harness, event, input, profile)
    if (moment === 'permission') return answerPermission(context, input, session?.profile)
    if (session === undefined) return 0
    if (!isProfileName(session.profile))
      throw new HookFailure('invalid_profile', 'the profile name is not valid')
    requireProfileFolder(session)
    log = session.places.log
    touch(session.places.ran(harness, event), context.clock())
    const { output }: Harness = harnesses[harness]
    const say = (said: string) => context.out(`${JSON.stringify(output(moment, event, said))}\n`)
    return await act(moment, { context, session, note, say })
  } catch (failure) {
    const { aborted, reason } = context.signal
    // The client reports the deadline as an abort by its caller.
    note('failed', aborted && reason instanceof HookFailure ? reason : failure)
    return 0
  }
}

async function act(moment: Exclude<Moment, 'permission'>, parts: HookParts): Promise<HookExit> {
  if (moment === 'wait') return waitForMail(parts)
  if (moment === 'tool') await tellBetweenTools(parts)
  else if (moment === 'start') await tellAtStart(parts)
  else if (moment === 'prompt') await tellAtPrompt(parts)
  else if (moment === 'stop') await tellAtStop(parts)
  else await endSession(parts)
  return 0
}

/**
 * Subagents get nothing: they would answer in place of their session. Cursor runs the hooks of Claude Code
 * without CLAUDE_CODE_ENTRYPOINT and gets nothing either.
 */
const concernsUs = ({ environment }: HookContext, harness: HarnessName, { isSubagent }: HookInput): boolean =>
  !isSubagent && (harness !== 'claude' || Boolean(environment.CLAUDE_CODE_ENTRYPOINT))

function answerPermission(
  { program, out }: HookContext,
  { fields }: HookInput,
  profile: string | undefined,
): HookExit {
  const options = { program, profile, realPath: realpathSync }
  if (readsOwnMail(fields.tool_name, fields.tool_input, options)) out(`${JSON.stringify(permissionOutput)}\n`)
  return 0
}

/** The hooks create no profile: `bridge enroll` does. */
function requireProfileFolder({ profile, places }: HookSession): void {
  if (touchedAt(places.profile) === undefined)
    throw new HookFailure('no_profile', `no identity in the profile ${profile}`)
}

interface HookWords {
  readonly harness: string
  readonly event: string
  readonly profile: string | undefined
}

/** Reads harness, event and `--profile`. Skips every other option: a usage error would exit with 2. */
function parseWords(words: readonly string[]): HookWords {
  const plain: string[] = []
  let profile: string | undefined
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (word === '--profile') {
      at += 1
      profile = words[at]
    } else if (word.startsWith('--profile=')) profile = word.slice('--profile='.length)
    else if (!word.startsWith('-')) plain.push(word)
  }
  const [harness = '', event = ''] = plain
  return { harness, event, profile }
}
