/**
 * Client of the owner for one command. It resumes the stored sign-in and adds an owner's next step to each
 * refusal.
 *
 * Contract §10 "Sign-in", §12.
 */
import type { BridgeError, LocalError, LocalErrorCode, Owner, RefusalCode } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { CommandError, localExits, refusalExits } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import { addressHint } from '../failures/hints.ts'
import { clientOptions } from '../startup/client-options.ts'
import { openSecrets } from '../terminal/secrets.ts'
import { loadOwnerProfile, saveOwnerProfile } from './profile.ts'

/** Runs `act` with the stored sign-in. @throws CommandError when no one is signed in. */
export async function asOwner<T>(context: CliContext, act: (owner: Owner) => Promise<T>): Promise<T> {
  const profile = await loadOwnerProfile(context)
  if (profile === undefined) {
    throw new CommandError('authentication', 'not signed in', {
      hint: 'bridge admin login --url URL --name NAME signs in; bridge admin setup --name NAME creates the owner of a new node',
    })
  }
  context.address = profile.base_url
  return withOwnerHints(async () => {
    const { Owner } = await import('../../sdk/index.ts')
    const reload = () => loadOwnerProfile(context)
    await using owner = Owner.resume(profile, { ...(await clientOptions(context, profile.ca)), reload })
    return await act(owner)
  })
}

export interface PasswordOption {
  readonly passwordStdin?: boolean | undefined
}

/**
 * Runs an action that needs a recent sign-in. If the node requires the password again, reads it and repeats
 * the action.
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

/** Confirms the password and stores the new cookie of the response. */
export async function confirm(context: CliContext, owner: Owner, password: string): Promise<void> {
  const { user } = await owner.signIn.confirm(password, { signal: context.signal })
  const kept = owner.keep()
  if (kept === undefined) return
  const ca = (await loadOwnerProfile(context))?.ca
  await saveOwnerProfile(context, { ...kept, name: user.name, ...(ca !== undefined && { ca }) })
}

/** Returns whether the node refused with this code. */
export async function isRefusal(error: unknown, code: RefusalCode): Promise<boolean> {
  const { BridgeError } = await import('../../sdk/index.ts')
  return error instanceof BridgeError && error.code === code
}

/**
 * Adds the next step of an owner, which differs from that of an agent. @throws CommandError with it as hint.
 */
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

/** {@link withOwnerHints} with another hint for one refusal. */
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
    'bridge server owner-link, run on the host of the node, prints a one-time link for bridge admin login --link',
  setup_done: 'bridge admin login signs in',
  reauth_required: 'run it in a terminal to type the password, or pass the password with --password-stdin',
  origin_mismatch: "the node's portal origin has changed; bridge admin login stores the new one",
  not_permitted: 'only the owner may do this, not a project administrator',
  not_found: 'bridge admin project list and bridge admin agent list list what exists',
  name_taken: 'choose another name',
  state_conflict: 'bridge admin project list shows the state',
  agent_disabled: 'bridge admin agent state <agent> enabled enables it again',
  project_archived: 'bridge admin project state <project> paused takes it out of the archive',
  idempotency_conflict: 'the key was used for another request; omit --key to get a new one',
  rate_limited: 'wait as long as the message says',
}

const locals: Partial<Record<LocalErrorCode, string>> = {
  insecure_url:
    'use https; an owner may use plain http only on loopback, because it would expose password and session',
  identity_unreadable: 'bridge admin login signs in again',
  identity_missing: 'bridge admin login signs in',
}

/**
 * Sends under an idempotency key. If the outcome is unknown, the hint names the key, so that a retry is safe.
 */
export async function namingKey<T>(
  { random }: Pick<CliContext, 'random'>,
  given: string | undefined,
  send: (key: string) => Promise<T>,
): Promise<T> {
  const { freshKey, isOutcomeUnknown } = await import('../../sdk/program.ts')
  const key = given ?? freshKey(random)
  try {
    return await send(key)
  } catch (cause) {
    if (!isOutcomeUnknown(cause)) throw cause
    const hint = `it is unknown whether it was stored; the same command with --key ${key} stores it exactly once`
    throw failureOf(cause as BridgeError | LocalError, hint)
  }
}
