/** Stage 3 of `hooks verify`: a message from the sender wakes the installed waiter, and is acknowledged. */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Finding, ok } from '../../failures/findings.ts'
import { type Harness, harnesses } from '../harnesses.ts'
import { runHandler } from './contract.ts'
import { type Handler, handlersOf } from './handlers.ts'
import type { Ended } from './processes.ts'
import { bridge, environmentOf, isAcknowledged, problem, sendProbe, type VerifyScene } from './scene.ts'

/** A waiter looks 2 s after the start of a session. */
const wakeMs = 20_000

export async function liveStage(scene: VerifyScene, mark: string): Promise<Finding[]> {
  const probe = await sendProbe(scene, mark)
  if ('check' in probe) return [probe]
  const findings = [ok('probe', `stored, from ${scene.sender} to ${scene.profile}`)]
  const { wake }: Harness = harnesses[scene.harness]
  if (wake !== undefined) {
    const waker = (await handlersOf(scene)).find(({ runs }) => runs === 'wait')
    findings.push(await woken(scene, waker))
  }
  const { code } = await bridge(scene, scene.profile, ['ack', probe.id])
  const isSeen = code === 0 && (await isAcknowledged(scene, probe))
  findings.push(
    isSeen
      ? ok('answer', `${scene.sender} sees the message acknowledged`)
      : problem(
          'answer',
          `${scene.sender} does not see the message acknowledged`,
          'bridge doctor shows why',
          'unexpected',
        ),
  )
  return findings
}

async function woken(scene: VerifyScene, waker: Handler | undefined): Promise<Finding> {
  const { harness } = scene
  const remedy = `bridge hooks install ${harness} repairs it`
  if (waker === undefined) return problem('waiter', 'no waiter is installed', remedy, 'conflict')
  const queue = join(scene.scratch, 'queued')
  const environment = { ...environmentOf(scene), ...(await queueProgram(scene, queue)) }
  const { ended, ms } = await runHandler(scene, waker, environment, wakeMs)
  const notice = await noticeOf(scene, ended, queue)
  const seconds = `${(ms / 1000).toFixed(1)} s`
  if (notice.includes('[agent-bridge notice')) return ok('waiter', `woke the session after ${seconds}`)
  if (!ended.isLate && ended.code === 0)
    return problem(
      'waiter',
      'the waiter ended at once: another process listens with this profile',
      'end bridge listen and other sessions of the profile, then verify again',
      'already_listening',
    )
  if (!ended.isLate && ended.endedBy !== null)
    return problem(
      'waiter',
      `the waiter was killed (${ended.endedBy}) before it woke the session`,
      'find out which program ends it, then verify again',
      'unexpected',
    )
  return problem(
    'waiter',
    `the waiter did not wake the session within ${seconds}`,
    `bridge doctor --profile ${scene.profile} shows failures of hooks`,
    'nothing_came',
  )
}

/** Codex's waiter calls `codex queue`, so PATH begins with a program that keeps the words and ends the waiter. */
async function queueProgram(scene: VerifyScene, queue: string): Promise<Record<string, string>> {
  if (scene.harness !== 'codex') return {}
  const folder = join(scene.scratch, 'queue')
  await mkdir(folder)
  const path = join(folder, 'codex')
  await writeFile(path, `#!/bin/sh\nprintf '%s\\n' "$@" > '${queue}'\nkill "$PPID"\n`)
  await chmod(path, 0o700)
  return { PATH: `${folder}:${scene.machine.environment.PATH ?? ''}` }
}

async function noticeOf({ harness }: VerifyScene, ended: Ended, queue: string): Promise<string> {
  const { wake }: Harness = harnesses[harness]
  if (wake === 'exit') return ended.code === 2 ? ended.stderr : ''
  if (wake === 'print') return ended.stdout
  return readFile(queue, 'utf8').catch(() => '')
}
