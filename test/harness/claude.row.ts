/** The real Claude Code with installed hooks and a scripted model. Its times are in claude-times.row.ts. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../cli/hooks/verify/model/scripted-model.ts'
import { has } from './programs.ts'
import { commandOf, noticesIn, requestOf, Scene, secret } from './scene.ts'
import type { Terminal } from './terminal.ts'

const model = ['--model', 'claude-sonnet-4-5']
let scene: Scene
beforeEach(async () => {
  scene = await Scene.make()
})
afterEach(() => scene.close())

const install = () => scene.run(['hooks', 'install', 'claude', '--profile', 'cleo'])

async function inTerminal(script: ScriptedModel, ...more: readonly string[]): Promise<Terminal> {
  const terminal = scene.terminal(['claude', ...model, ...more], scene.claude(script))
  await terminal.shows(/❯/)
  return terminal
}

describe.skipIf(!has('claude', 'tmux'))('Claude Code in a terminal', () => {
  test('mail during a turn is noticed after the next tool, once', async () => {
    const script = await scene.model(async (_request, number) => {
      if (number > 0) return { text: 'done' }
      await scene.mail()
      await scene.mailSeen()
      return { shell: 'agent-bridge peers' }
    })
    await install()
    const terminal = await inTerminal(script)
    await scene.listening()
    await terminal.send('You are cleo.')
    const after = await requestOf(script, 1)
    expect(script.requests.map(noticesIn)).toEqual([0, 1])
    expect(after.text).not.toContain('SECRET')
    await terminal.shows(/done/)
    await terminal.quit()
    await scene.quiet()
  })

  test('a session that bypasses permissions is woken too', async () => {
    const script = await scene.model(() => ({ text: 'noted' }))
    await install()
    scene.write('.claude/settings.json', { skipDangerousModePermissionPrompt: true })
    const environment = { ...scene.claude(script), IS_SANDBOX: '1' }
    const terminal = scene.terminal(['claude', ...model, '--dangerously-skip-permissions'], environment)
    await scene.listening()
    await scene.mail()
    expect(noticesIn(await requestOf(script, 0))).toBe(1)
    await terminal.quit()
  })

  test('bridge run gives a session hooks and tools without an installation', async () => {
    const ids: string[] = []
    const script = await scene.model(
      (_request, number) =>
        [
          { tool: /__inbox$/, input: {} },
          { tool: /__ack$/, input: { message_ids: ids } },
          { text: 'handled' },
        ][number],
    )
    const command = ['agent-bridge', 'run', 'claude', '--profile', 'cleo', '--', ...model]
    const terminal = scene.terminal(command, scene.claude(script))
    await scene.listening()
    const { id } = await scene.mail()
    ids.push(id)
    expect(noticesIn(await requestOf(script, 0))).toBe(1)
    expect((await requestOf(script, 1)).last).toContain(secret)
    await scene.acknowledged(id)
    await terminal.shows(/handled/)
    await terminal.quit()
    await scene.quiet()
  })

  test('bridge run beside an installation tells the session once', async () => {
    const script = await scene.model(() => ({ text: 'noted' }))
    await install()
    const command = ['agent-bridge', 'run', 'claude', '--profile', 'cleo', '--', ...model]
    const terminal = scene.terminal(command, scene.claude(script))
    await scene.listening()
    await scene.mail()
    expect(noticesIn(await requestOf(script, 0))).toBe(1)
    await terminal.shows(/noted/)
    await terminal.send('go on')
    expect(noticesIn(await requestOf(script, 1))).toBe(1)
    await terminal.quit()
    await scene.quiet()
  })
})

describe.skipIf(!has('claude', 'tmux'))('Claude Code that is killed', () => {
  test('a new session is told again of mail that came before, during a turn or while nothing ran', async () => {
    const ids: string[] = []
    const killed = new Promise<undefined>(() => {})
    const script = await scene.model(async (_request, number) => {
      if (number === 0) {
        ids.push((await scene.mail()).id)
        await scene.mailSeen()
        return { shell: 'agent-bridge peers' }
      }
      if (number === 1) return killed
      return (
        [
          { tool: /__inbox$/, input: {} },
          { tool: /__ack$/, input: { message_ids: ids } },
        ][number - 2] ?? { text: 'ready' }
      )
    })
    await install()
    const first = await inTerminal(script)
    await scene.listening()
    await first.send('You are cleo.')
    expect(noticesIn(await requestOf(script, 1))).toBe(1)
    await scene.killHarness()
    expect((await scene.dora.bridge('status', ids[0] ?? '')).stdout).toContain('not acknowledged')

    const second = await inTerminal(script)
    await second.send('Again.')
    expect(noticesIn(await requestOf(script, 2))).toBe(1)
    expect((await requestOf(script, 3)).last).toContain(secret)
    await scene.acknowledged(ids[0] ?? '')
    await second.shows(/ready/)
    await scene.killHarness()

    await scene.mail()
    const print = ['-p', 'Once more.', ...model]
    expect((await scene.command('claude', print, scene.claude(script))).code).toBe(0)
    const told = await requestOf(script, 5)
    expect([noticesIn(told), told.text.includes('SECRET')]).toEqual([1, false])
    await scene.quiet()
  })
})

describe.skipIf(!has('claude'))('Claude Code with -p', () => {
  const print = (script: ScriptedModel) =>
    scene.command('claude', ['-p', 'hello', ...model], scene.claude(script))

  test('the installed program needs no permission for the mail of its profile, and one for everything else', async () => {
    const { launcher, file } = scene.installed()
    const refused = [
      `${launcher} inbox --profile dora`,
      `${launcher} send dora hello`,
      `${launcher} inbox --profile cleo; touch ${scene.folder}/touched`,
      `${launcher} admin inbox`,
    ]
    const script = await scene.model((request, number) => {
      if (number === 0) return { shell: commandOf(request) ?? '' }
      const { [number - 1]: command } = refused
      return command === undefined ? { text: 'done' } : { shell: command }
    })
    const installing = [file, 'hooks', 'install', 'claude', '--profile', 'cleo']
    expect((await scene.command(process.execPath, installing, scene.environment)).code).toBe(0)
    await scene.mail()
    expect((await print(script)).code).toBe(0)
    expect(script.requests.map(commandOf)[0]).toBe(`${launcher} inbox --profile cleo`)
    expect(script.requests[1]?.last).toContain(secret)
    const answers = script.requests.slice(2).map(({ last }) => last)
    expect(answers).toHaveLength(refused.length)
    for (const answer of answers) expect(answer).toMatch(/requires? approval|permission/)
    expect(scene.exists('touched')).toBe(false)
    await scene.quiet()
  })

  test('mail during a turn continues it at its end, once', async () => {
    const script = await scene.model(async (_request, number) => {
      if (number === 0) await scene.mail()
      return { text: `answer ${number}` }
    })
    await install()
    const { code, stdout } = await print(script)
    expect([code, stdout, script.requests.map(noticesIn)]).toEqual([0, 'answer 1\n', [0, 1]])
    expect(script.requests[1]?.text).not.toContain('SECRET')
    await scene.quiet()
  })
})
