/** The real Gemini CLI with installed hooks and a scripted model. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../cli/hooks/verify/model/scripted-model.ts'
import { has } from './programs.ts'
import { noticesIn, requestOf, Scene, secret } from './scene.ts'

const settings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
}
let scene: Scene
beforeEach(async () => {
  scene = await Scene.make()
  scene.write('.gemini/settings.json', settings)
})
afterEach(() => scene.close())

const environmentOf = (model: ScriptedModel) => ({
  ...scene.environment,
  GOOGLE_GEMINI_BASE_URL: model.url,
  GEMINI_API_KEY: 'scripted',
  GEMINI_TELEMETRY_ENABLED: 'false',
})

const options = ['--skip-trust', '--yolo', '-m', 'gemini-2.5-flash']

const start = (model: ScriptedModel, command: readonly string[]) => {
  const [program = '', ...args] = [...command, ...options]
  return scene.command(program, [...args, '-p', 'hello'], environmentOf(model))
}

describe.skipIf(!has('gemini'))('Gemini CLI with -p', () => {
  test('it is told at its start, reads and acknowledges by MCP; listen --exec resumes it for a message', async () => {
    const ids: string[] = []
    const script = await scene.model(
      (_request, number) =>
        [
          { tool: /_inbox$/, input: {} },
          { tool: /_ack$/, input: { message_ids: ids } },
          { text: 'handled' },
          { tool: /_inbox$/, input: {} },
          { text: 'done' },
        ][number],
    )
    await scene.run(['hooks', 'install', 'gemini', '--profile', 'cleo'])
    const { id } = await scene.mail()
    ids.push(id)
    const { code, stdout } = await start(script, ['gemini'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('handled')])
    const [first, second] = script.requests
    expect([first && noticesIn(first), first?.text.includes('SECRET')]).toEqual([1, false])
    expect(second?.last).toContain(secret)
    await scene.acknowledged(id)
    await scene.wokenByListen(
      `gemini ${options.join(' ')} --resume latest -p mail`,
      script,
      environmentOf(script),
    )

    await scene.run(['hooks', 'uninstall', 'gemini'])
    expect(scene.exists('.gemini/extensions/agent-bridge')).toBe(false)
    expect(scene.read('.gemini/settings.json')).toBe(JSON.stringify(settings))
  })

  test('with bridge run, mail during a turn continues it at its end, once', async () => {
    const script = await scene.model(async (_request, number) => {
      if (number === 0) await scene.mail()
      return { text: `answer ${number}` }
    })
    await scene.run(['hooks', 'install', 'gemini', '--profile', 'cleo'])
    const { code, stdout } = await start(script, ['agent-bridge', 'run', 'gemini', '--profile', 'cleo', '--'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('answer 1')])
    expect(script.requests.map(noticesIn)).toEqual([0, 1])
    expect(script.requests[1]?.text).not.toContain('SECRET')
    await scene.quiet()
  })
})

describe.skipIf(!has('gemini', 'tmux'))('Gemini CLI in a terminal', () => {
  test('an idle session is not woken, and is told with the next prompt, once', async () => {
    const script = await scene.model((_request, number) => ({ text: `answer ${number}` }))
    await scene.run(['hooks', 'install', 'gemini', '--profile', 'cleo'])
    const terminal = scene.terminal(['gemini', ...options], environmentOf(script))
    await terminal.shows(/Type your message/)
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
