/** The real Codex, in its default sandbox, with a scripted model. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../cli/hooks/verify/model/scripted-model.ts'
import { has } from './programs.ts'
import { commandOf, endMs, noticesIn, requestOf, Scene, secret } from './scene.ts'
import type { Terminal } from './terminal.ts'

/** Codex otherwise keeps a daemon that survives the session. */
const noDaemon = '--no-daemon'

let scene: Scene
beforeEach(async () => {
  scene = await Scene.make()
})
afterEach(() => scene.close())

/** Starts a session and gives it a first prompt: Codex runs no hook before. */
async function begun(
  script: ScriptedModel,
  environment: Readonly<Record<string, string>>,
  command: readonly string[] = ['codex', noDaemon],
  asksForReview = false,
): Promise<Terminal> {
  const terminal = scene.terminal(command, environment)
  await terminal.shows(/›/)
  if (asksForReview) {
    await terminal.shows(/Hooks need review\s+1 hook is new/)
    // Codex ignores a key that arrives before the question takes keys, so an unanswered one gets it again.
    const answered = () => {
      if (terminal.screen.includes('Hooks need review')) terminal.press('Escape')
      return terminal.screen
    }
    await expect.poll(answered, { interval: 1000 }).not.toMatch(/Hooks need review/)
  }
  await terminal.send('You are cleo.')
  await requestOf(script, 0)
  await terminal.shows(/ready/)
  return terminal
}

describe.skipIf(!has('codex', 'tmux'))('Codex in a terminal', () => {
  test('an idle session is woken within 15 s; only the tools work in the sandbox, and they read, answer and acknowledge', async () => {
    const ids: string[] = []
    const script = await scene.model(
      (_request, number) =>
        [
          { text: 'ready' },
          { shell: `${scene.folder}/bin/agent-bridge inbox --profile cleo; echo exit=$?` },
          { tool: /\/inbox$/, input: {} },
          { tool: /\/reply$/, input: { message_id: ids[0], text: 'REVIEWED' } },
          { tool: /\/ack$/, input: { message_ids: ids } },
          { text: 'handled' },
        ][number],
    )
    const environment = scene.codex(script)
    await scene.run(['hooks', 'install', 'codex', '--profile', 'cleo', '--trust'], environment)
    // To answer needs a permission, which the user gives here for the run.
    const permitted = 'mcp_servers.agent-bridge.default_tools_approval_mode="approve"'
    const terminal = await begun(script, environment, ['codex', noDaemon, '-c', permitted])
    await scene.listening()
    const { id, atMs } = await scene.mail()
    ids.push(id)
    const woken = await requestOf(script, 1)
    expect(woken.atMs - atMs).toBeLessThan(15_000)
    expect([noticesIn(woken), woken.text.includes('SECRET')]).toEqual([1, false])
    expect((await requestOf(script, 2)).last).toContain('exit=13')
    expect((await requestOf(script, 3)).last).toContain(secret)
    await requestOf(script, 5)
    await scene.acknowledged(id)
    expect((await scene.dora.bridge('inbox')).stdout).toContain('REVIEWED')
    await terminal.quit()
    await scene.quiet()
  })

  test('without a sandbox, the command of the notice reads the mail, though the machine has two profiles', async () => {
    const script = await scene.model(
      (request, number) =>
        [{ text: 'ready' }, { shell: `${commandOf(request)} | cat` }, { text: 'handled' }][number],
    )
    const environment = scene.codex(script)
    expect(environment).not.toHaveProperty('BRIDGE_PROFILE')
    // The shell of Codex is a login shell, which may find no agent-bridge: the notice has the whole path.
    const { launcher, file } = scene.installed()
    const installing = [file, 'hooks', 'install', 'codex', '--profile', 'cleo', '--trust']
    expect((await scene.command(process.execPath, installing, environment)).code).toBe(0)
    const free = ['-c', 'sandbox_mode="danger-full-access"']
    const terminal = await begun(script, environment, ['codex', noDaemon, ...free])
    await scene.listening()
    await scene.mail()
    expect(commandOf(await requestOf(script, 1))).toBe(`${launcher} inbox --profile cleo`)
    expect((await requestOf(script, 2)).last).toContain(secret)
    await terminal.quit()
    await scene.quiet()
  })

  test('bridge run trusts our hooks of this run, and not an untrusted one of the user', async () => {
    const script = await scene.model((_request, number) => [{ text: 'ready' }][number])
    const environment = scene.codex(script)
    const theirs = { type: 'command', command: `touch ${scene.folder}/theirs`, timeout: 5 }
    scene.write('.codex/hooks.json', { hooks: { SessionStart: [{ hooks: [theirs] }] } })
    const hooks = scene.read('.codex/hooks.json')
    const terminal = await begun(
      script,
      environment,
      ['agent-bridge', 'run', 'codex', '--profile', 'cleo', '--', noDaemon],
      true,
    )
    await scene.listening()
    await scene.mail()
    expect(noticesIn(await requestOf(script, 1))).toBe(1)
    expect(scene.exists('theirs')).toBe(false)
    expect(scene.read('.codex/hooks.json')).toBe(hooks)
    // Codex adds settings of its terminal.
    expect(scene.read('.codex/config.toml')).not.toMatch(/agent-bridge|trusted_hash/)
    await terminal.quit()
    await scene.quiet()
  })
})

describe.skipIf(!has('codex'))('Codex exec', () => {
  const command = ['run', 'codex', '--profile', 'cleo', '--', 'exec', '--skip-git-repo-check', 'hello']

  test('mail during a turn is noticed after the next tool, once', async () => {
    const script = await scene.model(async (_request, number) => {
      if (number > 0) return { text: 'done' }
      await scene.mail()
      await scene.mailSeen()
      return { shell: 'true' }
    })
    const { code, stdout } = await scene.command('agent-bridge', command, scene.codex(script))
    expect([code, stdout]).toEqual([0, expect.stringContaining('done')])
    expect(script.requests.map(noticesIn)).toEqual([0, 1])
    expect(script.requests[1]?.text).not.toContain('SECRET')
    await scene.quiet()
  })

  test('mail during a turn continues it at its end, once', async () => {
    const script = await scene.model(async (_request, number) => {
      if (number === 0) await scene.mail()
      return { text: `answer ${number}` }
    })
    const { code, stdout } = await scene.command('agent-bridge', command, scene.codex(script))
    expect([code, stdout]).toEqual([0, expect.stringContaining('answer 1')])
    expect(script.requests.map(noticesIn)).toEqual([0, 1])
    expect(script.requests[1]?.text).not.toContain('SECRET')
    await scene.quiet()
  })

  test('bridge run keeps the trust that the user gave to hooks of theirs', async () => {
    const script = await scene.model(() => ({ text: 'done' }))
    const environment = scene.codex(script)
    const theirs = { type: 'command', command: `touch ${scene.folder}/theirs`, timeout: 5 }
    scene.write('.codex/hooks.json', { hooks: { SessionStart: [{ hooks: [theirs] }] } })
    await scene.trustAll(environment)
    const { code, stdout } = await scene.command('agent-bridge', command, environment)
    expect([code, stdout]).toEqual([0, expect.stringContaining('done')])
    expect(scene.exists('theirs')).toBe(true)
    await scene.quiet()
  })
})

describe.skipIf(!has('codex', 'tmux'))('Codex with its daemon', () => {
  test('no process of ours outlives the terminal, the profile is free, and a resumed session has all again', async () => {
    const script = await scene.model(
      (_request, number) => [{ text: 'ready' }, { tool: /\/inbox$/, input: {} }, { text: 'handled' }][number],
    )
    const environment = scene.codex(script)
    const ours = () => scene.processes.filter((each) => /bridge\.cjs (mcp|hooks run)/.test(each))
    await scene.run(['hooks', 'install', 'codex', '--profile', 'cleo', '--trust'], environment)
    try {
      const terminal = await begun(script, environment, ['codex'])
      await scene.listening()
      // The waiter and the MCP server stay when the hooks of the first turn have ended.
      await expect.poll(ours).toHaveLength(2)
      terminal.close()
      await expect.poll(ours, { timeout: endMs }).toEqual([])
      expect(scene.exists('bridge/profiles/cleo/hooks/holder.json')).toBe(false)
      // The daemon belongs to Codex.
      expect(scene.processes.filter((each) => each.includes('app-server'))).not.toEqual([])
      const resumed = scene.terminal(['codex', 'resume', '--last'], environment)
      await resumed.shows(/ready/)
      await resumed.send('Once more.')
      expect((await requestOf(script, 2)).last).toContain('no unacknowledged messages')
      await expect.poll(ours).toHaveLength(2)
      resumed.close()
      await expect.poll(ours, { timeout: endMs }).toEqual([])
    } finally {
      await scene.command('codex', ['app-server', 'daemon', 'stop'], environment)
      // Codex leaves the process that updates its daemon.
      for (const each of scene.processes) {
        const updater = /^process (\d+) .* pid-update-loop\)$/.exec(each)?.[1]
        if (updater !== undefined) process.kill(Number(updater), 'SIGKILL')
      }
    }
    await scene.quiet()
  })
})

describe.skipIf(!has('codex', 'tmux'))('Codex that is killed', () => {
  test('a new session is told again of mail that came before, during a turn or while nothing ran', async () => {
    const ids: string[] = []
    const killed = new Promise<undefined>(() => {})
    const script = await scene.model(async (_request, number) => {
      if (number === 1) {
        ids.push((await scene.mail()).id)
        await scene.mailSeen()
        return { shell: 'true' }
      }
      if (number === 2) return killed
      const steps = [
        { tool: /\/inbox$/, input: {} },
        { tool: /\/ack$/, input: { message_ids: ids } },
      ]
      return steps[number - 3] ?? { text: 'ready' }
    })
    const environment = scene.codex(script)
    await scene.run(['hooks', 'install', 'codex', '--profile', 'cleo', '--trust'], environment)
    const first = await begun(script, environment)
    await scene.listening()
    await first.send('Work.')
    expect(noticesIn(await requestOf(script, 2))).toBe(1)
    await scene.killHarness()
    expect((await scene.dora.bridge('status', ids[0] ?? '')).stdout).toContain('not acknowledged')

    const second = scene.terminal(['codex', noDaemon], environment)
    await second.shows(/›/)
    await second.send('Again.')
    expect(noticesIn(await requestOf(script, 3))).toBe(1)
    expect((await requestOf(script, 4)).last).toContain(secret)
    await scene.acknowledged(ids[0] ?? '')
    await second.shows(/ready/)
    await scene.killHarness()

    await scene.mail()
    const exec = ['exec', '--skip-git-repo-check', 'hello']
    expect((await scene.command('codex', exec, environment)).code).toBe(0)
    const told = await requestOf(script, 6)
    expect([noticesIn(told), told.text.includes('SECRET')]).toEqual([1, false])
    await scene.quiet()
  })
})
