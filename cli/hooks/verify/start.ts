/** Starts a harness for stage 4 of `hooks verify`. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { placeOf } from '../install/places.ts'
import type { ScriptedModel } from './model/scripted-model.ts'
import { type Ended, endOf } from './processes.ts'
import { environmentOf, type VerifyScene } from './scene.ts'

export type Start = (scene: VerifyScene, model: ScriptedModel) => Promise<Ended>

const runMs = 90_000
export const testPrompt = 'This is a test by bridge hooks verify.'

/** Runs the harness in an empty project until it ends. */
export async function started(
  scene: VerifyScene,
  args: readonly string[],
  more: Readonly<Record<string, string>>,
): Promise<Ended> {
  const { program, scratch, signal } = scene
  const project = join(scratch, 'project')
  await mkdir(project)
  await writeFile(join(project, 'README.md'), 'An empty project of bridge hooks verify.\n')
  const environment = { ...environmentOf(scene), ...more }
  return endOf(program, args, { environment, signal, timeoutMs: runMs, cwd: project })
}

/** Copies our installed files into another folder of settings. */
export async function copyInstalled(
  { harness, installed, machine }: VerifyScene,
  settings: string,
): Promise<void> {
  const { folder } = placeOf(harness, machine)
  for (const { path } of installed.files) {
    const copy = join(settings, relative(folder, path))
    await mkdir(dirname(copy), { recursive: true })
    await cp(path, copy)
  }
}
