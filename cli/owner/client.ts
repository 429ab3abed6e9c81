/**
 * The owner's client for one command: resumed, used, and its refusals given the next step an owner can take.
 *
 * Contract §10 "Sign-in", §12.
 */
import type { BridgeError, LocalError, LocalErrorCode, Owner, RefusalCode } from '../../sdk/index.ts'
import { version } from '../../sdk/version.ts'
import type { CliContext } from '../context.ts'
import { CommandError, localExits, refusalExits } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import { addressHint } from '../failures/hints.ts'
import { openSecrets } from '../terminal/secrets.ts'
import { loadOwnerProfile, saveOwnerProfile } from './profile.ts'

/** Run with the stored sign-in. @throws CommandError when nobody is signed in. */
export async function asOwner<T>(context: CliContext, act: (owner: Owner) => Promise<T>): Promise<T> {
  const profile = await loadOwnerProfile(context)
  if (profile === undefined) {
    throw new CommandError('authentication', 'nobody is signed in', {
      hint: 'bridge admin login --url URL --name NAME; bridge admin setup --name NAME makes the owner of a fresh node',
    })
  }
  context.address = profile.base_url
  return withOwnerHints(async () => {
    const { Owner } = await import('../../sdk/index.ts')
    const reload = () => loadOwnerProfile(context)
    await using owner = Owner.resume(profile, { ...(await clientOptions(context)), reload })
    return await act(owner)
  })
}

/** What every client of this program is made with. */
export const clientOptions = async ({ fetch, random, signal }: CliContext) => ({
  client: { name: 'bridge', version },
  fetch: await fetch(),
  random,
  signal,
})

export interface PasswordOption {
  readonly passwordStdin?: boolean | undefined
}

/**
 * Run an action that needs a recent sign-in; where the node wants the password again, ask for it and run it once more.
 *
 * "The CLI then asks for the password on the terminal, or takes `--password-stdin`." Contract §10.
 */
export async function confirmed<T>(
  context: CliContext,
  owner: Owner,
  { passwordStdin = false }: PasswordOption,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    const isAskable = passwordStdin || context.io.isTerminal.stdin
    if (!(await isRefusal(error, 'reauth_required')) || !isAskable) throw error
  }
  const password = await openSecrets(context.io, passwordStdin).next('password')
  await confirm(context, owner, password)
  return act()
}

/** Confirm the password, and keep the cookie that comes with the answer. */
export async function confirm(context: CliContext, owner: Owner, password: string): Promise<void> {
  const { user } = await owner.signIn.confirm(password, { signal: context.signal })
  const kept = owner.keep()
  if (kept !== undefined) await saveOwnerProfile(context, { ...kept, name: user.name })
}

/** Whether the node refused with this code. */
export async function isRefusal(error: unknown, code: RefusalCode): Promise<boolean> {
  const { BridgeError } = await import('../../sdk/index.ts')
  return error instanceof BridgeError && error.code === code
}

/** What an owner can do next differs from what an agent can. @throws CommandError in place of an error with such a step. */
export async function withOwnerHints<T>(act: () => Promise<T>, address?: string): Promise<T> {
  try {
    return await act()
  } catch (cause) {
    const { BridgeError, LocalError } = await import('../../sdk/index.ts')
    if (!(cause instanceof BridgeError || cause instanceof LocalError)) throw cause
    const usual = cause instanceof BridgeError ? refusals[cause.code] : locals[cause.code]
    const hint = addressHint(cause, address) ?? usual
    throw hint === undefined ? cause : failureOf(cause, hint)
  }
}

/** {@link withOwnerHints}, where this refusal has another next step. */
export async function withHint(code: RefusalCode, hint: string, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    const cause = error instanceof CommandError ? error.cause : error
    throw (await isRefusal(cause, code)) ? failureOf(cause as BridgeError, hint) : error
  }
}

const failureOf = (cause: BridgeError | LocalError, hint: string): CommandError => {
  const isRefusal = cause.name === 'BridgeError'
  const exit = isRefusal ? refusalExits[cause.code as RefusalCode] : localExits[cause.code as LocalErrorCode]
  return new CommandError(exit, failureWords(cause), { hint, cause })
}

const refusals: Partial<Record<RefusalCode, string>> = {
  owner_session_expired: 'bridge admin login signs in again',
  sign_in_failed:
    'bridge server owner-link, run on the host of the node, makes a one-time link for bridge admin login --link',
  setup_done: 'bridge admin login signs in',
  reauth_required:
    '--password-stdin confirms the password from standard input; on a terminal it is asked for',
  origin_mismatch: "the node's portal origin has changed; bridge admin login pins it again",
  not_permitted: 'only the owner may do this, not a project administrator',
  not_found: 'bridge admin project list and bridge admin agent list show what there is',
  name_taken: 'choose another name',
  state_conflict: 'bridge admin project list shows the state',
  agent_disabled: 'bridge admin agent state <agent> enabled lets it back in',
  project_archived: 'bridge admin project state <project> paused takes it out of the archive',
  idempotency_conflict: 'the key was used for something else; leave --key out to get a fresh one',
  rate_limited: 'wait as long as the message says',
}

const locals: Partial<Record<LocalErrorCode, string>> = {
  insecure_url: "use https; plain http carries the owner's password and session only within one machine",
  identity_unreadable: 'bridge admin login makes a new sign-in',
  identity_missing: 'bridge admin login signs in',
}

/** Send under a key; where the outcome is unknown, name the key that makes sending again safe. */
export async function namingKey<T>(
  { random }: Pick<CliContext, 'random'>,
  given: string | undefined,
  send: (key: string) => Promise<T>,
): Promise<T> {
  const { freshKey, isOutcomeUnknown } = await import('../../sdk/index.ts')
  const key = given ?? freshKey(random)
  try {
    return await send(key)
  } catch (cause) {
    if (!isOutcomeUnknown(cause)) throw cause
    const hint = `whether it was stored is unknown; the same command with --key ${key} stores it once`
    throw failureOf(cause as BridgeError | LocalError, hint)
  }
}
