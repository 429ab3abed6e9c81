/**
 * The time that an agent needs on a machine with an empty home folder and Node. It installs the node's client with the
 * line of the enrolment prompt, enrols, and listens until it prints the first message.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ClientPackage } from '../../../sdk/contract/client.ts'
import { installedProgram, installLine } from '../../../server/enrollments/install-line.ts'

export interface Newcomer {
  readonly url: string
  readonly code: string
  /** Sends the first message. */
  readonly welcome: () => Promise<unknown>
}

/** Returns the seconds from an empty home folder below `folder` to the first message. */
export async function secondsToListening(folder: string, { url, code, welcome }: Newcomer): Promise<number> {
  mkdirSync(folder, { recursive: true })
  const home = mkdtempSync(join(folder, 'newcomer-'))
  const client = (await (await fetch(`${url}/client`)).json()) as ClientPackage
  const bridge = `${installedProgram(client)} --profile new`
  const began = performance.now()
  inShell(home, `${installLine(url, client)} && ${bridge} enroll --url ${url}`, `${code}\n`)
  await welcome()
  const printed = inShell(home, `${bridge} listen --once --timeout 60`)
  const seconds = (performance.now() - began) / 1000
  if (!printed.includes('welcome')) throw new Error(`the newcomer printed ${printed}`)
  return seconds
}

function inShell(home: string, line: string, input = ''): string {
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', line], {
    cwd: home,
    env: { HOME: home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
    encoding: 'utf8',
    input,
  })
  if (status !== 0) throw new Error(`${line} ended with ${status}: ${stderr}`)
  return stdout
}
