/** The work of `bridge run`: plans, writes our files below BRIDGE_HOME, and becomes the harness. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { profilePaths, requireProfile } from '../../profile/profile.ts'
import { type HarnessName, harnesses } from '../harnesses.ts'
import { machineOf } from '../install/machine.ts'
import type { OwnFile } from '../install/own-files.ts'
import { findProgram, requireVersion } from '../install/versions.ts'
import { placesOf } from '../places.ts'
import { become } from './become.ts'
import { plans } from './harness-plans.ts'
import { sayIfRefused } from './node-check.ts'

export async function launch(
  context: CliContext,
  harness: HarnessName,
  args: readonly string[],
): Promise<void> {
  const { home, settings, environment } = context
  const { profile } = settings
  const paths = profilePaths(home, profile)
  await requireProfile(paths, profile, 'run')
  const machine = machineOf(context)
  const found = await findProgram(harness, machine)
  if (found === undefined) throw missing(harness)
  requireVersion(harness, found.version)
  const folder = join(placesOf(home, profile).folder, 'run', harness)
  const plan = await plans[harness]({ machine, profile, harness: found.path, folder })
  for (const file of plan.files) await write(file)
  await sayIfRefused(context, harnesses[harness].title, paths.session)
  await become(
    context,
    { path: found.path, args: [...plan.args, ...args] },
    { ...environment, ...plan.environment, BRIDGE_PROFILE: profile },
  )
}

/** npm package of each harness. */
const packages: Readonly<Record<HarnessName, string>> = {
  claude: '@anthropic-ai/claude-code',
  codex: '@openai/codex',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
  copilot: '@github/copilot',
}

/** The error for a harness that PATH does not find. */
export const missing = (harness: HarnessName): CommandError =>
  new CommandError('not_found', `${harnesses[harness].title} is not installed: PATH has no ${harness}`, {
    hint: `npm install -g ${packages[harness]}`,
  })

/** Replaces the file unless it is as it should be: another run may have started with it. */
async function write({ path, text }: OwnFile): Promise<void> {
  const { makePrivateFolder, writeDurably } = await import('../../../sdk/program.ts')
  if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return
  await makePrivateFolder(dirname(path))
  await writeDurably(path, text)
}
