/** Finds the program of a harness and its version. */
import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { CommandError } from '../../exit-codes.ts'
import { type HarnessName, harnesses } from '../harnesses.ts'
import type { Machine } from './places.ts'

export interface FoundProgram {
  readonly path: string
  /** Undefined if the program did not print one. */
  readonly version: string | undefined
}

/** Oldest version that has what our hooks need, and the oldest one that we have tried. */
const needs: Readonly<Record<HarnessName, { readonly least?: string; readonly tried: string }>> = {
  // 2.1.150 does not load a plugin folder in ~/.claude/skills.
  claude: { least: '2.1.224', tried: '2.1.224' },
  codex: { tried: '0.169.0' },
  gemini: { tried: '0.61.0' },
  opencode: { tried: '1.18.33' },
  copilot: { tried: '1.0.102' },
}

/** Returns the program that PATH finds, or undefined. */
export async function findProgram(harness: HarnessName, machine: Machine): Promise<FoundProgram | undefined> {
  const folders = (machine.environment.PATH ?? '').split(delimiter).filter(isAbsolute)
  for (const folder of folders) {
    const path = join(folder, harness)
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return { path, version: await versionOf(path, machine) }
  }
  return undefined
}

function versionOf(path: string, { environment }: Machine): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = execFile(
      path,
      ['--version'],
      { env: { ...environment }, timeout: 15_000, killSignal: 'SIGKILL' },
      (_error, stdout) => resolve(/\d+\.\d+\.\d+/.exec(stdout)?.[0]),
    )
    child.stdin?.end()
  })
}

/** @throws CommandError for a version that lacks what the hooks need */
export function requireVersion(harness: HarnessName, version: string | undefined): void {
  const { least } = needs[harness]
  if (least === undefined || version === undefined || !isOlder(version, least)) return
  const { title } = harnesses[harness]
  throw new CommandError('conflict', `${title} ${version} is too old: the hooks need ${least} or newer`, {
    hint: `update ${title}, then install again`,
  })
}

/** Returns a remark on a version that we have not tried, or undefined. */
export function remarkOn(harness: HarnessName, version: string | undefined): string | undefined {
  const { tried } = needs[harness]
  return version !== undefined && isOlder(version, tried)
    ? `${harnesses[harness].title} ${version} is older than ${tried}, the oldest version that was tried`
    : undefined
}

function isOlder(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('.').map(Number))
  for (let index = 0; index < 3; index += 1) {
    const difference = (one?.[index] ?? 0) - (other?.[index] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}
