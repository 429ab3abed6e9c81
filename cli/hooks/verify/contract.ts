/**
 * Stage 2 of `hooks verify`: runs each installed command as the harness would, with recorded input. It must
 * answer within 3 s in the form that the harness reads. If the node is stopped, it must be silent.
 */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { shellWord } from '../../../sdk/contract/spelling.ts'
import { profileFiles } from '../../../sdk/profile/profile-files.ts'
import type { Environment } from '../../context.ts'
import { type Finding, ok } from '../../failures/findings.ts'
import { type Harness, harnesses, momentOf } from '../harnesses.ts'
import { installRecordPath } from '../install-record.ts'
import { permissionOutput } from '../permission.ts'
import { type Handler, handlersOf } from './handlers.ts'
import { inputOf } from './inputs.ts'
import { type Ended, endOf } from './processes.ts'
import { environmentOf, problem, type VerifyScene } from './scene.ts'

/** Longest time of a hook. */
const hookMs = 3000
/** Time after which a hook is ended. */
const givenMs = 12_000

export async function contractStage(scene: VerifyScene): Promise<Finding[]> {
  const handlers = (await handlersOf(scene)).filter(({ runs }) => runs !== 'wait')
  if (handlers.length === 0)
    return [problem('commands', 'no installed command was found', remedyOf(scene), 'conflict')]
  const stopped = join(scene.scratch, 'stopped')
  await makeStopped(scene, stopped)
  const findings: Finding[] = []
  for (const handler of handlers) {
    findings.push(...(await answers(scene, handler)))
    findings.push(...(await isSilent(scene, handler, stopped)))
  }
  if (findings.length > 0) return findings
  return [
    ok('commands', `${handlers.length} installed commands answer, and are silent if the node is stopped`),
  ]
}

const remedyOf = ({ harness }: VerifyScene) => `bridge hooks install ${harness} repairs it`

async function answers(scene: VerifyScene, handler: Handler): Promise<Finding[]> {
  const { ended, ms } = await runHandler(scene, handler, environmentOf(scene))
  const fault = faultOf(ended, ms) ?? outputFault(scene, handler, ended.stdout)
  return fault === undefined ? [] : [faulty(scene, handler, fault)]
}

async function isSilent(scene: VerifyScene, handler: Handler, stopped: string): Promise<Finding[]> {
  const own = movedTo(handler, scene.home, stopped)
  const environment = { ...environmentOf(scene), BRIDGE_HOME: stopped }
  const { ended, ms } = await runHandler(scene, own, environment)
  const isAllowed = isPermission(scene, handler)
  const fault =
    faultOf(ended, ms) ?? (ended.stdout === '' || isAllowed ? undefined : 'writes to standard output')
  return fault === undefined ? [] : [faulty(scene, handler, `${fault} while the node is stopped`)]
}

const isPermission = ({ harness }: VerifyScene, { runs }: Handler) => momentOf(harness, runs) === 'permission'

const faulty = (scene: VerifyScene, { event }: Handler, fault: string): Finding =>
  problem('commands', `the hook ${event} ${fault}`, remedyOf(scene), 'unexpected')

function faultOf({ code, stderr, isLate }: Ended, ms: number): string | undefined {
  if (isLate) return `took longer than ${givenMs / 1000} s`
  if (code !== 0) return `exits with ${code ?? 'a signal'}${stderr === '' ? '' : `: ${stderr.slice(0, 200)}`}`
  return ms > hookMs ? `took ${(ms / 1000).toFixed(1)} s, more than 3 s` : undefined
}

/** Checks the form: nothing, or exactly what our hooks write for this event. */
function outputFault(scene: VerifyScene, handler: Handler, stdout: string): string | undefined {
  if (stdout === '') return undefined
  const moment = momentOf(scene.harness, handler.runs)
  const { output }: Harness = harnesses[scene.harness]
  try {
    const written: unknown = JSON.parse(stdout)
    const text = /"(\[agent-bridge notice(?:[^"\\]|\\.)*)"/.exec(stdout)?.[1]
    const expected =
      moment === 'permission'
        ? permissionOutput
        : moment === undefined || text === undefined
          ? undefined
          : output(moment, handler.runs, JSON.parse(`"${text}"`))
    if (isDeepStrictEqual(written, expected)) return undefined
  } catch {
    // The sentence below says it.
  }
  return `writes what ${harnesses[scene.harness].title} does not read: ${stdout.slice(0, 100)}`
}

/** Runs a hook as the harness does. */
export async function runHandler(
  scene: VerifyScene,
  handler: Handler,
  environment: Environment,
  timeoutMs = givenMs,
): Promise<{ readonly ended: Ended; readonly ms: number }> {
  const { harness, scratch, nowMs, signal } = scene
  const { command, args } = handler
  const [program, words]: [string, readonly string[]] =
    args === undefined ? ['/bin/sh', ['-c', command]] : [command, args]
  const began = nowMs()
  const ended = await endOf(program, words, {
    environment: {
      ...environment,
      CLAUDE_CODE_ENTRYPOINT: 'cli',
      CLAUDE_PID: String(process.pid),
      CLAUDE_PROJECT_DIR: scratch,
    },
    signal,
    timeoutMs,
    stdin: inputOf(handler, { harness, session: sessionId, folder: scratch }),
    cwd: scratch,
  })
  return { ended, ms: nowMs() - began }
}

/** Id of the session that the recorded input names. */
export const sessionId = 'verify'

/** Returns the hook with another folder of profiles, if its command names one. */
function movedTo(handler: Handler, from: string, to: string): Handler {
  const words = [`BRIDGE_HOME=${from}`, `BRIDGE_HOME=${to}`] as const
  const [old, changed] = words
  return {
    ...handler,
    command: handler.command.replace(shellWord(old), shellWord(changed)),
    ...(handler.args && { args: handler.args.map((word) => (word === old ? changed : word)) }),
  }
}

/** Makes a folder of profiles whose node is at a port that refuses connections. */
async function makeStopped({ home, harness, profile }: VerifyScene, folder: string): Promise<void> {
  const from = profileFiles(home, profile)
  const to = profileFiles(folder, profile)
  await mkdir(to.folder, { recursive: true, mode: 0o700 })
  const record = JSON.parse(await readFile(from.record, 'utf8')) as { identity: { credential_id: string } }
  const changed = { ...record, base_url: 'http://127.0.0.1:1', allow_plain_http: true }
  await writeFile(to.record, JSON.stringify(changed), { mode: 0o600 })
  const { credential_id: credential } = record.identity
  await cp(from.key(credential), to.key(credential))
  await mkdir(join(folder, 'hooks'), { mode: 0o700 })
  await cp(installRecordPath(home, harness), installRecordPath(folder, harness))
}
