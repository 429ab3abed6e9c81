/**
 * `bridge enroll`: claims a single-use code with a key pair created here, and stores the identity in this
 * profile.
 *
 * - The code is read from standard input, never from an argument.
 * - The key is durable before the request is sent, so that the command can be repeated if the answer is lost.
 *   If the node refuses the key permanently, the key is deleted.
 * - A profile of the same agent gets a new key and keeps its outbox, journal and age key. A profile of
 *   another agent or another node is overwritten only with `--replace`.
 *
 * Contract §4, §12.
 */
import { createHash } from 'node:crypto'
import type { BridgeError, EnrollmentClaimed, IdentityRecord } from '../../sdk/index.ts'
import { oneLine } from '../../sdk/plain-text.ts'
import type { ProfilePaths, ProfileRecord } from '../../sdk/profile/profile-files.ts'
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { addressHint } from '../failures/hints.ts'
import { certificatesIn, readAuthority } from '../profile/authority.ts'
import { deviceOf } from '../profile/device.ts'
import { enrollmentCodeIn, hasCode, promptTermsIn } from '../profile/enrollment-code.ts'
import { observedFetch, type PendingKey, pendingKey } from '../profile/pending-key.ts'
import { profilePaths, readProfile, tidyProfile, writeProfile } from '../profile/profile.ts'
import { requireSameAgent, requireSameNode } from '../profile/re-enrolment.ts'

export interface EnrollOptions {
  readonly url?: string
  readonly device?: true
  readonly replace?: true
  readonly allowPlainHttp?: true
  readonly ca?: string
}

export function enrollCommand(context: CliContext, run = enroll): Command {
  return command('enroll', 'bridge enroll --url https://bridge.example < code.txt')
    .description(
      "Become an agent: claim an enrolment code with a key pair created here. Standard input is the code or the owner's whole prompt.",
    )
    .option('--url <url>', 'the address of the node (default: that of the pasted prompt)')
    .option('--device', 'bind the identity to this machine, if the owner requires it')
    .option('--replace', 'discard the identity of another agent in this profile')
    .option('--ca <file>', 'trust this certificate authority at the node; the profile keeps it')
    .option('--allow-plain-http', 'accept http:// beyond this machine; everything is sent unencrypted')
    .action((options: EnrollOptions) => run(context, options))
}

export async function enroll(context: CliContext, given: EnrollOptions): Promise<void> {
  const authority = given.ca === undefined ? undefined : await readAuthority(given.ca)
  if (given.url !== undefined) await whereOf(context, given.url, given)
  const text = await pasted(context)
  const code = enrollmentCodeIn(text)
  const { url, ...options } = given.url === undefined ? { ...termsOf(context, text), ...given } : given
  const address = await whereOf(context, url ?? '', options)
  const code_sha256 = createHash('sha256').update(code).digest('hex')
  const paths = profilePaths(context.home, context.settings.profile)
  const stored = await earlier(paths, options)
  const kept = stored?.base_url === address.base_url ? stored.ca : undefined
  const ca = authority ?? (given.url === undefined ? await certificatesIn(text) : undefined) ?? kept
  const where = { ...address, ...(ca !== undefined && { ca }) }
  if (stored?.code_sha256 === code_sha256) {
    context.output.note('this code has already created this profile')
    tidyProfile(paths, stored)
    printIdentity(context, stored.identity, stored.base_url)
    return
  }
  const before = options.replace === true ? undefined : stored
  if (before !== undefined) await requireSameNode(context, before, where)
  const device = options.device === true ? await deviceOf(context) : undefined
  const key = await pendingKey(paths.pendingKey(code_sha256))
  const claimed = await claim(context, { code, where, device, key })
  if (before !== undefined) await requireSameAgent(context, before, claimed)
  const { server_time: _, ...identity } = claimed
  const { uuidFrom } = await import('../../sdk/program.ts')
  const instance_id = before?.instance_id ?? uuidFrom(context.random)
  const record = { ...where, device: device ?? null, instance_id, code_sha256, identity }
  await writeProfile(paths, record, key.pem)
  await key.forget()
  if (before !== undefined)
    context.output.note('the profile has a new key; its outbox, journal and age key are kept')
  printIdentity(context, claimed, where.base_url)
}

interface Where {
  readonly base_url: string
  readonly allow_plain_http: boolean
  readonly ca?: string | undefined
}

/** Checks the address. If it is an option, this happens before a code is read. @throws LocalError */
async function whereOf(
  context: CliContext,
  url: string,
  options: Omit<EnrollOptions, 'url'>,
): Promise<Where> {
  const { parseBaseUrl } = await import('../../sdk/program.ts')
  const allowPlainHttp = options.allowPlainHttp === true
  context.address = url
  const { origin, prefix } = parseBaseUrl(url, { allowPlainHttp })
  return { base_url: `${origin}${prefix}`, allow_plain_http: allowPlainHttp }
}

/** Takes the options from the enrol command of the pasted prompt. @throws CommandError if it has none */
function termsOf(context: CliContext, text: string): EnrollOptions {
  const terms = promptTermsIn(text)
  if (terms === undefined) {
    throw new CommandError('usage', 'no address of a node: standard input has only the code', {
      hint: 'paste the whole prompt, or give the address with --url',
    })
  }
  const { profile, ...options } = terms
  context.preferProfile(profile)
  return options
}

interface Claim {
  readonly code: string
  readonly where: Where
  readonly device: string | undefined
  readonly key: PendingKey
}

/** Claims the code with the key of an earlier try, or with a new key that is already durable. */
async function claim(context: CliContext, { code, where, device, key }: Claim): Promise<EnrollmentClaimed> {
  const sdk = await import('../../sdk/program.ts')
  const { base_url: baseUrl, allow_plain_http: allowPlainHttp } = where
  const { pem, isNew, forget } = key
  const { fetch, mayHaveReached } = observedFetch(await context.fetch(where.ca))
  const client = { name: 'bridge', version: sdk.version }
  const how = { client, allowPlainHttp, fetch, signal: context.signal }
  try {
    return await sdk.enroll({ baseUrl, code, privateKey: sdk.importPrivateKey(pem), device, ...how })
  } catch (error) {
    const refusal = error instanceof sdk.BridgeError ? error : undefined
    const isRefused = refusal !== undefined && (isNew ? refusal.retry === 'never' : isNoKeyOf(refusal))
    if (isRefused || (isNew && !mayHaveReached())) await forget()
    throw refusal === undefined ? error : worded(refusal, baseUrl)
  }
}

/**
 * Returns whether the refusal shows that the node does not have this key, which an earlier try may have sent.
 */
const isNoKeyOf = ({ code }: BridgeError): boolean => code === 'unauthenticated' || code === 'enrollment_used'

/** Words a refusal. If the address is right, `unauthenticated` can only mean an unknown code. */
function worded(cause: BridgeError, baseUrl: string): Error {
  if (cause.code !== 'unauthenticated' || addressHint(cause, baseUrl) !== undefined) return cause
  return new CommandError('authentication', 'no enrolment at this node has this code', {
    hint: 'is this the whole code of the newest prompt, and the address of its node?',
    cause,
  })
}

const pasted = ({ io }: CliContext): Promise<string> =>
  io.isTerminal.stdin
    ? io.readPasted('enrolment code, or the whole prompt: ', {
        isWhole: hasCode,
        missing: 'no enrolment code yet: paste the rest, or press control-D to end: ',
      })
    : io.readAll()

/** Reads the stored profile. With `--replace`, an unreadable one is treated as absent. */
async function earlier(paths: ProfilePaths, options: EnrollOptions): Promise<ProfileRecord | undefined> {
  try {
    return await readProfile(paths)
  } catch (error) {
    if (options.replace === true && error instanceof CommandError) return undefined
    throw error
  }
}

function printIdentity(context: CliContext, identity: IdentityRecord, url: string): void {
  const { agent, project } = identity
  const text = `enrolled as ${oneLine(agent.name)} in ${oneLine(project.name)} at ${url}, profile ${context.settings.profile}`
  context.output.result(identity, text)
}
