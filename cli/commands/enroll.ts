/**
 * `bridge enroll`: a single-use code and a key pair made here become this profile's identity.
 *
 * - The code comes on standard input, never as an argument.
 * - The key is on disk before the node is asked, so that the same command after a lost answer ends the same
 *   way. A key that the node refused for good is removed again.
 * - A profile that holds an identity of the same agent gets its new key, and keeps its outbox, journal and
 *   age key. One of another agent or another node is not overwritten without `--replace`.
 *
 * Contract §4, §12.
 */
import { createHash } from 'node:crypto'
import type { BridgeError, EnrollmentClaimed, IdentityRecord } from '../../sdk/index.ts'
import { oneLine } from '../../sdk/plain-text.ts'
import type { ProfilePaths, ProfileRecord } from '../../sdk/storage/profile-files.ts'
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { addressHint } from '../failures/hints.ts'
import { deviceOf } from '../profile/device.ts'
import { observedFetch, type PendingKey, pendingKey } from '../profile/pending-key.ts'
import { profilePaths, readProfile, tidyProfile, writeProfile } from '../profile/profile.ts'
import { requireSameAgent, requireSameNode } from '../profile/re-enrolment.ts'

export interface EnrollOptions {
  readonly url: string
  readonly device?: true
  readonly replace?: true
  readonly allowPlainHttp?: true
}

export function enrollCommand(context: CliContext, run = enroll): Command {
  return command('enroll', 'bridge enroll --url https://bridge.example < code.txt')
    .description(
      'Become an agent: claim an enrolment code, read from standard input, with a key pair made here.',
    )
    .requiredOption('--url <url>', 'the address of the node')
    .option('--device', 'bind the identity to this machine, when the owner asked for that')
    .option('--replace', 'give up the identity of another agent that this profile has')
    .option('--allow-plain-http', 'accept http:// beyond this machine; everything travels in the clear')
    .action((options: EnrollOptions) => run(context, options))
}

export async function enroll(context: CliContext, options: EnrollOptions): Promise<void> {
  const where = await whereOf(context, options)
  const code = await readCode(context)
  const code_sha256 = createHash('sha256').update(code).digest('hex')
  const paths = profilePaths(context.home, context.settings.profile)
  const stored = await earlier(paths, options)
  if (stored?.code_sha256 === code_sha256) {
    context.output.note('this code has made this profile already')
    await tidyProfile(paths, stored)
    tell(context, stored.identity, stored.base_url)
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
  if (before !== undefined) context.output.note('the profile has a new key; what it kept is still there')
  tell(context, claimed, where.base_url)
}

interface Where {
  readonly base_url: string
  readonly allow_plain_http: boolean
}

/** Checked before a code is asked for. @throws LocalError */
async function whereOf(context: CliContext, options: EnrollOptions): Promise<Where> {
  const { parseBaseUrl } = await import('../../sdk/program.ts')
  const allowPlainHttp = options.allowPlainHttp === true
  context.address = options.url
  const { origin, prefix } = parseBaseUrl(options.url, { allowPlainHttp })
  return { base_url: `${origin}${prefix}`, allow_plain_http: allowPlainHttp }
}

interface Claim {
  readonly code: string
  readonly where: Where
  readonly device: string | undefined
  readonly key: PendingKey
}

/** Claim the code with the key of an earlier try, or with a new one that is on disk first. */
async function claim(context: CliContext, { code, where, device, key }: Claim): Promise<EnrollmentClaimed> {
  const sdk = await import('../../sdk/program.ts')
  const { base_url: baseUrl, allow_plain_http: allowPlainHttp } = where
  const { pem, isNew, forget } = key
  const { fetch, mayHaveReached } = observedFetch(await context.fetch())
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

/** The node has nothing of this key. Of an earlier try's key only these say so. */
const isNoKeyOf = ({ code }: BridgeError): boolean => code === 'unauthenticated' || code === 'enrollment_used'

/** Here a code is all that can be unknown, if the address is right. */
function worded(cause: BridgeError, baseUrl: string): Error {
  if (cause.code !== 'unauthenticated' || addressHint(cause, baseUrl) !== undefined) return cause
  return new CommandError('authentication', 'no enrolment at this node has this code', {
    hint: 'is it the whole code, of the newest prompt, and is this the address of its node?',
    cause,
  })
}

/**
 * The only line that has its form: what is pasted may bring blank lines, indentation or all of the prompt
 * along. It is a secret: no error repeats it.
 */
async function readCode({ io }: CliContext): Promise<string> {
  const text = io.isTerminal.stdin ? await io.readSecret('enrolment code: ') : await io.readAll()
  const codes = text.split('\n').flatMap((line) => /^\s*([A-Za-z0-9_-]{16,128})\s*$/.exec(line)?.[1] ?? [])
  const [code] = codes
  if (code !== undefined && codes.length === 1) return code
  throw new CommandError('usage', 'standard input holds no enrolment code', {
    hint: 'the code is the single line between the CODE marks of the prompt',
  })
}

/** With `--replace`, what cannot be read is given up like what can. */
async function earlier(paths: ProfilePaths, options: EnrollOptions): Promise<ProfileRecord | undefined> {
  try {
    return await readProfile(paths)
  } catch (error) {
    if (options.replace === true && error instanceof CommandError) return undefined
    throw error
  }
}

function tell(context: CliContext, identity: IdentityRecord, url: string): void {
  const { agent, project } = identity
  const text = `enrolled as ${oneLine(agent.name)} in ${oneLine(project.name)} at ${url}, profile ${context.settings.profile}`
  context.output.result(identity, text)
}
