/** The real Copilot CLI with installed hooks and a scripted model. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../cli/hooks/verify/model/scripted-model.ts'
import { has } from './programs.ts'
import { noticesIn, requestOf, Scene, secret } from './scene.ts'

let scene: Scene
beforeEach(async () => {
  scene = await Scene.make()
})
afterEach(() => scene.close())

const environmentOf = (model: ScriptedModel) => ({
  ...scene.environment,
  COPILOT_OFFLINE: 'true',
  COPILOT_AUTO_UPDATE: 'false',
  COPILOT_PROVIDER_TYPE: 'anthropic',
  COPILOT_PROVIDER_BASE_URL: model.url,
  COPILOT_PROVIDER_API_KEY: 'scripted',
  COPILOT_MODEL: 'scripted',
})

const options = ['--allow-all-tools', '--log-level', 'error']

const start = (model: ScriptedModel, command: readonly string[]) => {
  const [program = '', ...args] = [...command, '-p', 'hello', ...options]
  return scene.command(program, args, environmentOf(model))
}

describe.skipIf(!has('copilot'))('Copilot CLI with -p', () => {
  test('it is told at its start, reads and acknowledges by MCP; listen --exec resumes it for a message', async () => {
    const ids: string[] = []
    const script = await scene.model(
      (_request, number) =>
        [
          { tool: /inbox$/, input: {} },
          { tool: /-ack$|_ack$/, input: { message_ids: ids } },
          { text: 'handled' },
          { tool: /inbox$/, input: {} },
          { text: 'done' },
        ][number],
    )
    await scene.run(['hooks', 'install', 'copilot', '--profile', 'cleo'])
    const { id } = await scene.mail()
    ids.push(id)
    const { code, stdout } = await start(script, ['copilot'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('handled')])
    const [first, second] = script.requests
    expect([first && noticesIn(first), first?.text.includes('SECRET')]).toEqual([1, false])
    expect(second?.last).toContain(secret)
    await scene.acknowledged(id)
    await scene.wokenByListen(
      `copilot --continue -p mail ${options.join(' ')}`,
      script,
      environmentOf(script),
    )
  })

  test.each([
    [
      'an installation',
      async () => {
        await scene.run(['hooks', 'install', 'copilot', '--profile', 'cleo'])
        return ['copilot']
      },
    ],
    ['bridge run', async () => ['agent-bridge', 'run', 'copilot', '--profile', 'cleo', '--']],
  ])('with %s, mail during a turn continues it at its end, once', async (_way, prepare) => {
    const script = await scene.model(async (_request, number) => {
      if (number === 0) await scene.mail()
      return { text: `answer ${number}` }
    })
    const { code, stdout } = await start(script, await prepare())
    expect([code, stdout]).toEqual([0, expect.stringContaining('answer 1')])
    expect(script.requests.map(noticesIn)).toEqual([0, 1])
    expect(script.requests[1]?.text).not.toContain('SECRET')
    await scene.quiet()
  })
})

describe.skipIf(!has('copilot', 'tmux'))('Copilot CLI in a terminal', () => {
  test('an idle session is not woken, and is told with the next prompt, once', async () => {
    const script = await scene.model((_request, number) => ({ text: `answer ${number}` }))
    await scene.run(['hooks', 'install', 'copilot', '--profile', 'cleo'])
    scene.write('.copilot/config.json', { trusted_folders: [scene.project] })
    const terminal = scene.terminal(['copilot', ...options], environmentOf(script))
    await terminal.shows(/\? help/)
    await terminal.send('hello')
    await terminal.shows(/answer 0/)
    await scene.notWoken(script)
    await terminal.send('go on')
    const told = await requestOf(script, 1)
    expect([noticesIn(told), told.text.includes('SECRET')]).toEqual([1, false])
    await terminal.shows(/answer 1/)
    expect(script.requests.map(noticesIn)).toEqual([0, 1])
    await terminal.quit()
    await scene.quiet()
  })
})
