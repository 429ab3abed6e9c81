/**
 * The plan of each harness.
 *
 * - Claude Code gets `--plugin-dir`, which adds up with options of the user. A second `--settings` may
 *   replace theirs.
 * - Codex gets `-c` for each value, and trusts exactly our hooks (codex-flags.ts).
 * - opencode finds our plugin file in `OPENCODE_CONFIG_CONTENT`.
 * - Copilot CLI gets `--plugin-dir`.
 * - Gemini CLI loads extensions only from its own folder, and settings that a variable names only if root
 *   owns the file. So it needs an installation for the profile.
 */
import { pathToFileURL } from 'node:url'
import { profilesHome } from '../../../sdk/profile/profile-files.ts'
import { CommandError } from '../../exit-codes.ts'
import { readObject } from '../files.ts'
import type { HarnessName } from '../harnesses.ts'
import { claudeLayout } from '../install/claude.ts'
import { copilotPlugin } from '../install/copilot.ts'
import { opencodeLayout } from '../install/opencode.ts'
import { installRecordPath } from '../install-record.ts'
import { codexFlags } from './codex-flags.ts'
import { choiceOf, type LaunchFacts, type LaunchPlan, type PlanOf, settingsIn } from './plan.ts'

export const plans: Readonly<Record<HarnessName, PlanOf>> = {
  claude: planClaude,
  codex: async (facts) => ({ args: await codexFlags(facts), files: [] }),
  copilot: planCopilot,
  gemini: planGemini,
  opencode: planOpencode,
}

function planClaude(facts: LaunchFacts): LaunchPlan {
  const machine = settingsIn(facts.machine, 'CLAUDE_CONFIG_DIR', facts.folder)
  const { folder = '', files } = claudeLayout(machine, choiceOf(facts))
  return { args: ['--plugin-dir', folder], files }
}

function planCopilot(facts: LaunchFacts): LaunchPlan {
  return {
    args: ['--plugin-dir', facts.folder],
    files: copilotPlugin(facts.machine, choiceOf(facts), facts.folder),
  }
}

/** @throws CommandError `usage` without an installation: its tools act as its profile */
function planGemini({ machine, profile }: LaunchFacts): LaunchPlan {
  const home = profilesHome(machine.environment, machine.home)
  if (readObject(installRecordPath(home, 'gemini'))?.profile === profile) return { args: [], files: [] }
  throw new CommandError('usage', 'Gemini CLI takes hooks from its own settings only, not for one run', {
    hint: `bridge hooks install gemini --profile ${profile}, then start it again`,
  })
}

function planOpencode(facts: LaunchFacts): LaunchPlan {
  const machine = settingsIn(facts.machine, 'XDG_CONFIG_HOME', facts.folder)
  const { files } = opencodeLayout(machine, choiceOf(facts))
  const given = contentOf(facts.machine.environment.OPENCODE_CONFIG_CONTENT)
  const plugin = [...(Array.isArray(given.plugin) ? given.plugin : []), ...files.map(urlOf)]
  return {
    args: [],
    environment: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...given, plugin }) },
    files,
  }
}

const urlOf = ({ path }: { readonly path: string }): string => pathToFileURL(path).href

/** @throws CommandError `usage` if the user's value is no JSON object */
function contentOf(text: string | undefined): Record<string, unknown> {
  if (text === undefined || text === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // The parser's message would repeat the value.
  }
  throw new CommandError('usage', 'OPENCODE_CONFIG_CONTENT is set and is no JSON object', {
    hint: 'unset it, or write it without comments',
  })
}
