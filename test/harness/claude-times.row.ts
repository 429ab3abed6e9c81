/** Times of the real Claude Code: how soon an idle session is woken, and how much later `claude -p` ends. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../cli/hooks/verify/model/scripted-model.ts'
import { childrenMs } from '../support/processor-time.ts'
import { has } from './programs.ts'
import { noticesIn, requestOf, Scene, secret } from './scene.ts'
import type { Terminal } from './terminal.ts'

const model = ['--model', 'claude-sonnet-4-5']
const median = (three: readonly number[]): number => three.toSorted((a, b) => a - b)[1] ?? Number.NaN
let scene: Scene
beforeEach(async () => {
  scene = await Scene.make()
})
afterEach(() => scene.close())

const install = () => scene.run(['hooks', 'install', 'claude', '--profile', 'cleo'])

/** The bound of a wake-up. On two free cores a command takes 0.4 s. On busy ones everything takes longer. */
async function wakeMs(): Promise<number> {
  const began = performance.now()
  await scene.dora.bridge('peers')
  return 3000 * Math.max(1, (performance.now() - began) / 400)
}

async function inTerminal(script: ScriptedModel): Promise<Terminal> {
  const terminal = scene.terminal(['claude', ...model], scene.claude(script))
  await terminal.shows(/❯/)
  return terminal
}

describe.skipIf(!has('claude', 'tmux'))('Claude Code in a terminal', () => {
  test('an idle session with a draft is woken within 3 s, reads by MCP, acknowledges, and is told once', async () => {
    const ids: string[] = []
    const steps = [
      { text: 'ready' },
      { tool: /__inbox$/, input: {} },
      { tool: /__ack$/, input: { message_ids: ids } },
      { text: 'handled' },
    ]
    const script = await scene.model((_request, number) => steps[number])
    await install()
    const terminal = await inTerminal(script)
    await terminal.send('You are cleo.')
    await terminal.shows(/ready/)
    await scene.listening()
    await terminal.type('half-typed draft')
    const withinMs = await wakeMs()
    const { id, atMs } = await scene.mail()
    ids.push(id)
    const woken = await requestOf(script, 1)
    expect(woken.atMs - atMs).toBeLessThan(withinMs)
    expect([noticesIn(woken), woken.text.includes('SECRET')]).toEqual([1, false])
    await scene.acknowledged(id)
    expect((await requestOf(script, 2)).last).toContain(secret)
    expect(noticesIn(await requestOf(script, 3))).toBe(1)
    await terminal.shows(/handled/)
    expect(terminal.screen).toContain('half-typed draft')
    await terminal.quit()
    await scene.quiet()
  })

  test('a session is woken before its first prompt, and its shell commands need no permission', async () => {
    const script = await scene.model(
      (_request, number) =>
        [{ shell: 'agent-bridge inbox' }, { shell: 'agent-bridge ack last' }, { text: 'handled' }][number],
    )
    await install()
    const terminal = await inTerminal(script)
    await scene.listening()
    const withinMs = await wakeMs()
    const { id, atMs } = await scene.mail()
    const woken = await requestOf(script, 0)
    expect(woken.atMs - atMs).toBeLessThan(withinMs)
    expect(noticesIn(woken)).toBe(1)
    expect((await requestOf(script, 1)).last).toContain(secret)
    await scene.acknowledged(id)
    await terminal.shows(/handled/)
    await terminal.quit()
    await scene.quiet()
  })
})

describe.skipIf(!has('claude'))('Claude Code with -p', () => {
  const print = async (script: ScriptedModel) => {
    const began = performance.now()
    const ended = await scene.command('claude', ['-p', 'hello', ...model], scene.claude(script))
    return { ...ended, ms: performance.now() - began }
  }

  test('it ends at most 2 s later with everything installed, and leaves no process', async () => {
    const script = await scene.model(() => ({ text: 'done' }))
    const timed = async () => {
      const before = childrenMs()
      const { code, stdout, ms } = await print(script)
      expect([code, stdout]).toEqual([0, 'done\n'])
      return { ms, usedMs: childrenMs() - before }
    }
    const pairs = []
    for (let round = 0; round < 3; round += 1) {
      const alone = await timed()
      await install()
      pairs.push({ alone, installed: await timed() })
      await scene.quiet()
      await scene.run(['hooks', 'uninstall', 'claude'])
    }
    // On two free cores it takes 1 s alone. If it takes n s alone, other programs make everything n times slower.
    const slowdown = Math.max(1, median(pairs.map(({ alone }) => alone.ms)) / 1000)
    const laterMs = median(pairs.map(({ alone, installed }) => installed.ms - alone.ms))
    const usedMs = median(pairs.map(({ alone, installed }) => installed.usedMs - alone.usedMs))
    expect({ usedMs, laterMs, slowdown }).toSatisfy(() => usedMs < 2000 && laterMs < 2000 * slowdown)
  })
})
