/**
 * `bridge doctor`: checks whether this profile can work with its node. Each finding has its remedy. The
 * command changes nothing: it starts no session, and no message is offered to it.
 *
 * Contract §12.
 */
import { readdir, stat } from 'node:fs/promises'
import { shellWord } from '../../sdk/contract/spelling.ts'
import type { NodeStatus } from '../../sdk/index.ts'
import type { ProfilePaths, ProfileRecord } from '../../sdk/profile/profile-files.ts'
import { version } from '../../sdk/version.ts'
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { failureReport } from '../failures/failure-report.ts'
import { type Finding, ok, report, warning } from '../failures/findings.ts'
import { hookFindings } from '../hooks/findings.ts'
import { takeLock } from '../profile/lock.ts'
import { profilePaths, requireProfile } from '../profile/profile.ts'
import { clientOptions } from '../startup/client-options.ts'

export function doctorCommand(context: CliContext, run = doctor): Command {
  return command('doctor', 'bridge doctor')
    .description(
      'Check what this profile needs to work: files, address, certificate, clock, session, unread mail. Exit 0 if there is no problem, else the exit code of the first problem.',
    )
    .action(() => run(context))
}

export async function doctor(context: CliContext): Promise<void> {
  const paths = profilePaths(context.home, context.settings.profile)
  const findings: Finding[] = []
  const profile = await tried(context, 'profile', findings, () =>
    requireProfile(paths, context.settings.profile, context.current.words),
  )
  if (profile !== undefined) {
    findings.push(
      ok('profile', `${context.settings.profile}, ${profile.identity.agent.name} at ${profile.base_url}`),
    )
    findings.push(...(await files(context, paths)))
    const hasKey = await tried(context, 'key', findings, async () => {
      await context.agent()
      findings.push(ok('key', 'private, and readable by its owner'))
      return true
    })
    const answers = await node(context, profile, findings)
    if (answers && hasKey === true) await identity(context, paths, findings)
    findings.push(await outbox(paths))
  }
  findings.push(...hookFindings(context.home, context.settings.profile, context.clock()))
  await tried(context, 'hooks', findings, async () => {
    const { installationFindings } = await import('../hooks/install/findings.ts')
    findings.push(...(await installationFindings(context)))
  })
  report(context, findings)
}

/** Runs an action. Its error becomes a finding, with the message and the exit code of any other command. */
async function tried<T>(
  context: CliContext,
  check: string,
  findings: Finding[],
  act: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await act()
  } catch (error) {
    const { exit, message = 'failed', hint } = await failureReport(error, context)
    findings.push({ check, state: 'problem', text: message, remedy: hint, exit })
    return undefined
  }
}

/** Finds folders and files that other users of this machine may open. */
async function files({ home }: CliContext, { folder }: ProfilePaths): Promise<Finding[]> {
  const names = (await readdir(folder)).map((name) => `${folder}/${name}`)
  const open: string[] = []
  for (const path of [home, folder, ...names]) {
    if (((await stat(path)).mode & 0o077) !== 0) open.push(path)
  }
  if (open.length === 0) return [ok('files', `${folder} is private`)]
  return open.map((path) =>
    warning('files', `${path} is accessible to other users of this machine`, `chmod go= ${shellWord(path)}`),
  )
}

/** Returns whether the node answers and is the node of this identity. */
async function node(context: CliContext, profile: ProfileRecord, findings: Finding[]): Promise<boolean> {
  const { base_url: baseUrl, allow_plain_http: allowPlainHttp, ca } = profile
  const found = await tried(context, 'node', findings, async () => {
    const { nodeStatus } = await import('../../sdk/index.ts')
    return nodeStatus({
      ...(await clientOptions(context)),
      fetch: await context.fetch(ca),
      baseUrl,
      allowPlainHttp,
    })
  })
  if (found === undefined) return false
  if (found.health.server_id !== profile.identity.server_id) {
    findings.push({
      check: 'node',
      state: 'problem',
      text: `another node answers at ${baseUrl} than the one this agent was enrolled at`,
      remedy: 'use the address of the right node, or ask the owner for a new enrolment',
      exit: 'authentication',
    })
    return false
  }
  findings.push(...nodeFindings(baseUrl, found), ...(await expiry(context, baseUrl, ca)))
  return true
}

function nodeFindings(baseUrl: string, { health, readiness }: NodeStatus): Finding[] {
  const failing = Object.entries(readiness.checks).filter(([, holds]) => !holds)
  const other = health.build.version
  return [
    readiness.ready
      ? ok('node', `${baseUrl} answers and is ready`)
      : {
          check: 'node',
          state: 'problem',
          text: `${baseUrl} is not ready: ${failing.map(([name]) => name).join(', ')}`,
          remedy: 'bridge server doctor on its host shows why',
          exit: 'unreachable',
        },
    other === version
      ? ok('version', `${version} on both sides`)
      : warning(
          'version',
          `this program is ${version}, the node ${other}`,
          'install the same version on both sides',
        ),
  ]
}

const dayMs = 86_400_000

/** Checks when the certificate expires. The connection before has shown that it is valid now. */
async function expiry(
  { clock, signal }: CliContext,
  baseUrl: string,
  ca: string | undefined,
): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(baseUrl)
  if (protocol !== 'https:') return []
  const { connect } = await import('node:tls')
  const trust = await (await import('../../sdk/program.ts')).trusting(ca)
  const until = await new Promise<string | undefined>((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const name = /^[0-9.]+$|:/.test(host) ? {} : { servername: host }
    const socket = connect({ host, port: Number(port || 443), ...name, ...trust }, () => {
      resolve(socket.getPeerCertificate().valid_to)
      socket.destroy()
    })
    socket.once('error', () => resolve(undefined))
    signal.addEventListener('abort', () => socket.destroy(new Error('aborted')), { once: true })
  })
  if (until === undefined) return []
  const days = Math.floor((Date.parse(until) - clock().getTime()) / dayMs)
  const text = `the certificate is valid for ${days} more days`
  return [days < 14 ? warning('tls', text, "the node's operator has to renew it") : ok('tls', text)]
}

/** Checks the credential, the clock, the session, and whether a `listen` runs. */
async function identity(context: CliContext, paths: ProfilePaths, findings: Finding[]): Promise<void> {
  const { clock, signal } = context
  const { bridge } = await context.agent()
  const before = clock().getTime()
  const bootstrap = await tried(context, 'credential', findings, () => bridge.bootstrap.get({ signal }))
  if (bootstrap === undefined) return
  findings.push(ok('credential', `accepted, for ${bootstrap.credential.scopes.join(', ')}`))
  const offset = Date.parse(bootstrap.server_time) - (before + clock().getTime()) / 2
  const seconds = Math.round(offset / 1000)
  findings.push(
    Math.abs(seconds) <= 5
      ? ok('clock', 'agrees with that of the node')
      : warning(
          'clock',
          `the node's clock is ${Math.abs(seconds)} seconds ${seconds > 0 ? 'ahead of' : 'behind'} this machine's`,
          "set this machine's clock",
        ),
  )
  await session(context, paths, findings)
}

async function session(context: CliContext, paths: ProfilePaths, findings: Finding[]): Promise<void> {
  const { readJson } = await import('../profile/json-file.ts')
  const stored = await readJson(paths.session, 'unexpected').catch(() => undefined)
  if (typeof stored?.session_id !== 'string') {
    findings.push(ok('session', 'none yet; the next command that needs one starts it'))
    return
  }
  const { bridge } = await context.agent()
  const unread = await tried(context, 'session', findings, () =>
    bridge.inbox.list({ limit: 1, signal: context.signal }),
  )
  if (unread === undefined) return
  findings.push(ok('session', `${stored.session_id} is alive`))
  const lock = await takeLock(paths.lock)
  lock?.release()
  const count = unread.waiting
  const unacknowledged = `${count} unacknowledged ${count === 1 ? 'message' : 'messages'}`
  if (lock === undefined) findings.push(ok('listening', `listening; ${unacknowledged}`))
  else if (count === 0) findings.push(ok('listening', 'no listen runs here, and nothing is unread'))
  else
    findings.push(
      warning('listening', `${unacknowledged}, and no listen runs here`, 'bridge listen, or bridge inbox'),
    )
}

async function outbox({ outbox: folder }: ProfilePaths): Promise<Finding> {
  const kept = (await readdir(folder).catch((): string[] => [])).filter((name) => !name.endsWith('.tmp'))
  if (kept.length === 0) return ok('outbox', 'empty')
  return warning('outbox', `keeps ${kept.length} unsent`, 'bridge outbox flush; bridge outbox list')
}
