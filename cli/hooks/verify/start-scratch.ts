/** Gemini CLI, opencode and Copilot CLI with the scripted model. Each gets a scratch folder of settings and of data. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyInstalled, type Start, started, testPrompt } from './start.ts'

export const startGemini: Start = async (scene, model) => {
  const home = join(scene.scratch, 'gemini')
  const settings = join(home, '.gemini')
  await copyInstalled(scene, settings)
  await writeJson(join(settings, 'settings.json'), {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
  })
  return started(scene, ['--skip-trust', '--yolo', '-m', 'gemini-2.5-flash', '-p', testPrompt], {
    GEMINI_CLI_HOME: home,
    GOOGLE_GEMINI_BASE_URL: model.url,
    GEMINI_API_KEY: 'scripted',
    GOOGLE_GENAI_USE_VERTEXAI: 'false',
    GEMINI_TELEMETRY_ENABLED: 'false',
  })
}

const opencodeModel = 'anthropic/claude-sonnet-4-5'

export const startOpencode: Start = async (scene, model) => {
  const folder = (kind: string) => join(scene.scratch, 'opencode', kind)
  const folders = ['CONFIG', 'DATA', 'CACHE', 'STATE'].map((kind) => [`XDG_${kind}_HOME`, folder(kind)])
  const settings = join(folder('CONFIG'), 'opencode')
  await copyInstalled(scene, settings)
  // opencode fetches its package for plugins from npm unless these name it. Our plugin does not use it.
  const dependencies = { '@opencode-ai/plugin': '*' }
  await mkdir(join(settings, 'node_modules'))
  await writeJson(join(settings, 'package.json'), { dependencies })
  await writeJson(join(settings, 'package-lock.json'), { packages: { '': { dependencies } } })
  const content = {
    ...{ model: opencodeModel, small_model: opencodeModel, autoupdate: false, share: 'disabled' },
    permission: { '*': 'allow' },
    provider: { anthropic: { options: { baseURL: `${model.url}/v1`, apiKey: 'scripted' } } },
  }
  return started(scene, ['run', testPrompt], {
    ...Object.fromEntries(folders),
    OPENCODE_CONFIG: '',
    OPENCODE_CONFIG_DIR: '',
    OPENCODE_CONFIG_CONTENT: JSON.stringify(content),
    OPENCODE_DISABLE_AUTOUPDATE: 'true',
    OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
    OPENCODE_DISABLE_MODELS_FETCH: 'true',
  })
}

export const startCopilot: Start = async (scene, model) => {
  const settings = join(scene.scratch, 'copilot')
  await copyInstalled(scene, settings)
  const servers = scene.installed.shared.flatMap(({ entries }) => entries)
  const mcpServers = Object.fromEntries(servers.map(({ at: [, name = ''], value }) => [name, value]))
  await writeJson(join(settings, 'mcp-config.json'), { mcpServers })
  return started(scene, ['-p', testPrompt, '--allow-all-tools', '--log-level', 'error'], {
    COPILOT_HOME: settings,
    // Asks neither GitHub nor any other host.
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_PROVIDER_TYPE: 'anthropic',
    COPILOT_PROVIDER_BASE_URL: model.url,
    COPILOT_PROVIDER_API_KEY: 'scripted',
    COPILOT_PROVIDER_BEARER_TOKEN: '',
    COPILOT_MODEL: 'scripted',
  })
}

const writeJson = (path: string, value: object): Promise<void> => writeFile(path, JSON.stringify(value))
