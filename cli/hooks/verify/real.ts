/**
 * Stage 4 of `hooks verify`: the real harness with a scripted model on loopback. It passes if the model was
 * shown a notice, its look into the inbox showed the message, and the sender sees it acknowledged.
 *
 * Settings of the user are not used, unless the user asks for it: the harness gets an empty folder of
 * settings with our files.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { shellWord } from '../../../sdk/contract/spelling.ts'
import { type Finding, ok } from '../../failures/findings.ts'
import { type HarnessName, harnesses } from '../harnesses.ts'
import { ourName, programWords } from '../install/layout.ts'
import { trustedFlags } from '../launch/codex-flags.ts'
import { type ModelRequest, ScriptedModel } from './model/scripted-model.ts'
import type { Step } from './model/steps.ts'
import type { Ended } from './processes.ts'
import { isAcknowledged, type Probe, problem, sendProbe, type VerifyScene } from './scene.ts'
import { copyInstalled, type Start, started, testPrompt } from './start.ts'
import { startCopilot, startGemini, startOpencode } from './start-scratch.ts'

/** Ways to start a harness with a scripted model. */
const starts: Readonly<Record<HarnessName, Start>> = {
  claude: startClaude,
  codex: startCodex,
  copilot: startCopilot,
  gemini: startGemini,
  opencode: startOpencode,
}
/** The settings of the others name an account, which their options cannot replace. */
const inPlaceStarts: readonly HarnessName[] = ['claude', 'codex']

export async function realStage(scene: VerifyScene, mark: string): Promise<Finding[]> {
  const { harness, inPlace } = scene
  const { title } = harnesses[harness]
  if (inPlace && !inPlaceStarts.includes(harness))
    return [ok('harness', `${title} itself was not started: with your settings it would use your account`)]
  const probe = await sendProbe(scene, mark)
  if ('check' in probe) return [probe]
  const model = await ScriptedModel.start((_request, number) => stepsOf(scene, probe)[number], scene.nowMs)
  try {
    const ended = await starts[harness](scene, model)
    return [await judged(scene, { probe, ended, requests: model.requests })]
  } finally {
    await model.close()
  }
}

/** Reads and acknowledges by the tools, or by commands if there is no MCP server. */
function stepsOf({ installed, machine }: VerifyScene, { id }: Probe): readonly Step[] {
  const done = { text: 'done' }
  if (installed.mcp)
    return [{ tool: /[-_/]inbox$/, input: {} }, { tool: /[-_/]ack$/, input: { message_ids: [id] } }, done]
  const program = programWords(machine).map(shellWord).join(' ')
  return [{ shell: `${program} inbox` }, { shell: `${program} ack ${id}` }, done]
}

/** Variables that make Claude Code ask the model of another provider. */
const otherProviders = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY']

async function startClaude(scene: VerifyScene, model: ScriptedModel): Promise<Ended> {
  const { installed, scratch, inPlace } = scene
  const settings = join(scratch, 'claude')
  if (!inPlace) await copyInstalled(scene, settings)
  const allowed = installed.mcp ? `mcp__plugin_${ourName}_${ourName}` : 'Bash'
  const environment = {
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'sk-ant-scripted-model',
    ...Object.fromEntries(otherProviders.map((name) => [name, '0'])),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // The scripted model knows the names of the tools.
    ENABLE_TOOL_SEARCH: 'false',
  }
  // `env` in the user's settings goes before the environment, and would name their own model.
  const chosen = JSON.stringify({ env: environment })
  const options = ['--model', 'claude-sonnet-4-5', '--allowedTools', allowed, '--settings', chosen]
  return started(scene, ['-p', testPrompt, ...options], {
    ...(!inPlace && { CLAUDE_CONFIG_DIR: settings }),
    ...environment,
  })
}

async function startCodex(scene: VerifyScene, model: ScriptedModel): Promise<Ended> {
  const { installed, machine, scratch, inPlace, program } = scene
  const settings = join(scratch, 'codex')
  await mkdir(settings, { recursive: true })
  const provider = `{name="scripted",base_url="${model.url}/v1",env_key="SCRIPTED_MODEL_KEY",wire_api="responses"}`
  const chosen = [
    'model="scripted"',
    'model_provider="scripted"',
    `model_providers.scripted=${provider}`,
    'approval_policy="never"',
    `sandbox_mode="${installed.mcp ? 'workspace-write' : 'danger-full-access'}"`,
    'check_for_update_on_startup=false',
  ]
  const environment = {
    ...(!inPlace && { CODEX_HOME: settings }),
    SCRIPTED_MODEL_KEY: 'scripted',
  }
  const own = { ...machine, environment: { ...machine.environment, ...environment } }
  // Trust is bound to the path of the settings, so the copy is trusted here. Stage 1 checked the original.
  const entries = installed.shared.flatMap((file) => file.entries.filter(({ at }) => at[1] !== 'state'))
  const ours = inPlace ? [] : await trustedFlags(program, own, entries)
  const flags = [...chosen.flatMap((each) => ['-c', each]), ...ours]
  return started(scene, ['exec', '--skip-git-repo-check', ...flags, testPrompt], environment)
}

interface Run {
  readonly probe: Probe
  readonly ended: Ended
  readonly requests: readonly ModelRequest[]
}

async function judged(scene: VerifyScene, { probe, ended, requests }: Run): Promise<Finding> {
  const { harness, sender } = scene
  const { title } = harnesses[harness]
  const [first] = requests
  const said = (ended.stderr || ended.stdout).trim().split('\n').at(-1)?.slice(0, 200) ?? ''
  if (ended.isLate)
    return problem(
      'harness',
      `${title} did not end within 90 s`,
      `start ${harness} by hand to see why`,
      'unexpected',
    )
  if (first === undefined)
    return problem(
      'harness',
      `${title} did not ask its model: ${said}`,
      `start ${harness} by hand to see why`,
      'unexpected',
    )
  const shown = requests.find(({ text }) => text.includes('[agent-bridge notice'))
  if (shown === undefined)
    return problem(
      'harness',
      `${title} ran without a notice: it does not run the hooks`,
      harness === 'codex' ? 'open /hooks in Codex and trust them' : 'bridge hooks status shows when they ran',
      'conflict',
    )
  if (first.text.includes(probe.mark))
    return problem(
      'harness',
      'the notice contains the text of the message',
      'report this fault',
      'unexpected',
    )
  if (!requests.some(({ text }) => text.includes(probe.mark)))
    return problem(
      'harness',
      'the inbox did not show the message to the model',
      `acknowledge older messages of ${scene.profile}, or install again without --no-mcp`,
      'conflict',
    )
  if (!(await isAcknowledged(scene, probe)))
    return problem(
      'harness',
      `${sender} does not see the message acknowledged`,
      'bridge doctor shows why',
      'unexpected',
    )
  return ok('harness', `${title} showed the notice, read the message and acknowledged it`)
}
