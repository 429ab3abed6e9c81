/** The real opencode with our plugin and a scripted model. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ScriptedModel } from '../../cli/hooks/verify/model/scripted-model.ts'
import { has } from './programs.ts'
import { noticesIn, requestOf, Scene, secret } from './scene.ts'

let scene: Scene
// One start takes 10 s, and over a minute on a busy machine.
vi.setConfig({ testTimeout: 300_000 })
beforeEach(async () => {
  scene = await Scene.make()
  installed()
})
afterEach(() => scene.close())

/**
 * Installs the package that opencode fetches from npm at its first start. Our plugin does not use it. Without it,
 * opencode waits for npm 77 s and starts without it.
 */
function installed(): void {
  const dependencies = { '@opencode-ai/plugin': '1.18.33' }
  scene.write('.config/opencode/package.json', { dependencies })
  scene.write('.config/opencode/package-lock.json', { packages: { '': { dependencies } } })
  scene.write('.config/opencode/node_modules/.package-lock.json', {})
}

const settingsOf = ({ url }: ScriptedModel) => ({
  $schema: 'https://opencode.ai/config.json',
  model: 'anthropic/claude-sonnet-4-5',
  small_model: 'anthropic/claude-sonnet-4-5',
  autoupdate: false,
  share: 'disabled',
  permission: { '*': 'allow' },
  provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: 'scripted' } } },
})

const environment = () => ({
  ...scene.environment,
  OPENCODE_DISABLE_AUTOUPDATE: 'true',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: 'true',
  OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
  OPENCODE_DISABLE_MODELS_FETCH: 'true',
})

const start = (model: ScriptedModel, ...args: readonly string[]) => {
  scene.write('.config/opencode/opencode.json', settingsOf(model))
  return scene.command('opencode', ['run', ...args], environment())
}

describe.skipIf(!has('opencode'))('opencode run', () => {
  test('it is told at its start, reads and acknowledges by MCP', async () => {
    const ids: string[] = []
    const script = await scene.model(
      (_request, number) =>
        [{ tool: /_inbox$/, input: {} }, { tool: /_ack$/, input: { message_ids: ids } }, { text: 'handled' }][
          number
        ],
    )
    await scene.run(['hooks', 'install', 'opencode', '--profile', 'cleo'])
    const { id } = await scene.mail()
    ids.push(id)
    const { code, stdout } = await start(script, 'hello')
    expect([code, stdout]).toEqual([0, expect.stringContaining('handled')])
    const [first, second] = script.requests
    expect([first && noticesIn(first), first?.text.includes('SECRET')]).toEqual([1, false])
    expect(second?.last).toContain(secret)
    await scene.acknowledged(id)
    await scene.quiet()

    await scene.run(['hooks', 'uninstall', 'opencode'])
    expect(scene.exists('.config/opencode/plugins')).toBe(false)
    expect(scene.read('.config/opencode/opencode.json')).toBe(JSON.stringify(settingsOf(script)))
  })

  test('mail during its turn continues it at its end, once', async () => {
    const script = await scene.model(async (_request, number) => {
      if (number === 0) await scene.mail()
      return { text: `answer ${number}` }
    })
    await scene.run(['hooks', 'install', 'opencode', '--profile', 'cleo'])
    const { code, stdout } = await start(script, 'hello')
    expect([code, stdout]).toEqual([0, expect.stringContaining('answer 1')])
    expect(script.requests.map(noticesIn)).toEqual([0, 1])
    expect(script.requests[1]?.text).not.toContain('SECRET')
    await scene.quiet()
    // A session that goes on is told at its start of what it has not acknowledged, if it was not told just before.
    await pause(6000)
    const second = await start(script, '--continue', 'go on')
    expect([second.code, second.stdout]).toEqual([0, expect.stringContaining('answer 2')])
    const [, , resumed] = script.requests
    expect([resumed && noticesIn(resumed), resumed?.text.includes('answer 1')]).toEqual([2, true])
    await scene.quiet()
  })
})

describe.skipIf(!has('opencode', 'tmux'))('opencode in a terminal', () => {
  test('an idle session is woken within 15 s, once', async () => {
    const script = await scene.model((_request, number) => ({ text: `answer ${number}` }))
    await scene.run(['hooks', 'install', 'opencode', '--profile', 'cleo'])
    scene.write('.config/opencode/opencode.json', settingsOf(script))
    const terminal = scene.terminal(['opencode', '--prompt', 'hello'], environment())
    await expect.poll(() => script.requests.length, { timeout: 90_000 }).toBe(1)
    await scene.listening()
    const { atMs } = await scene.mail()
    const woken = await requestOf(script, 1)
    expect(woken.atMs - atMs).toBeLessThan(15_000)
    expect([noticesIn(woken), woken.text.includes('SECRET')]).toEqual([1, false])
    await terminal.shows(/answer 1/)
    expect(script.requests).toHaveLength(2)
    await terminal.quit()
    await scene.quiet()
  })

  test('as a server of bridge run, mail during a turn continues it at its end, once', async () => {
    const script = await scene.model(async (_request, number) => {
      if (number === 0) await scene.mail()
      return { text: `answer ${number}` }
    })
    scene.write('.config/opencode/opencode.json', settingsOf(script))
    const command = ['agent-bridge', 'run', 'opencode', '--profile', 'cleo', '--', 'serve', '--port', '0']
    const terminal = scene.terminal(command, environment())
    await expect.poll(() => terminal.screen, { timeout: 90_000 }).toMatch(/listening on/)
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(terminal.screen) ?? []
    const ask = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text()
    }
    const { id } = JSON.parse(await ask('/session', {})) as { readonly id: string }
    await ask(`/session/${id}/message`, { parts: [{ type: 'text', text: 'hello' }] })
    const continued = await requestOf(script, 1)
    expect([noticesIn(continued), continued.text.includes('SECRET')]).toEqual([1, false])
    await scene.listening()
    expect(script.requests).toHaveLength(2)
    await terminal.quit()
    await scene.quiet()
  })
})
