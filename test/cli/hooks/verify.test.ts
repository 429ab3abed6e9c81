/**
 * `bridge hooks verify` without a real harness: the first three stages, and refusals. The rows of `test/harness` run it
 * with the real ones.
 */
import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ScriptedModel } from '../../../cli/hooks/verify/model/scripted-model.ts'
import type { Step } from '../../../cli/hooks/verify/model/steps.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { enrolled } from '../../support/profiles.ts'
import { TestHome } from '../../support/test-home.ts'
import { printing, programIn } from './programs.ts'

let bridge: TestBridge
let desk: Desk
let machine: TestHome
let environment: Record<string, string>

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  machine = TestHome.at(desk.folder)
  await enrolled(bridge, desk, 'cleo')
  environment = await programIn(desk, 'gemini', printing('0.61.0'))
})
afterAll(async () => {
  await machine.remove()
  await bridge.close()
})

const run = (...args: string[]) => machine.run(['hooks', ...args, '--profile', 'cleo'], { environment })

test('each refusal says what to do', async () => {
  expect(await run('verify', 'gemini')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/the hooks are not installed for Gemini CLI\nhint: .*hooks install gemini/),
  })
  await run('install', 'gemini')
  expect(await run('verify', 'gemini')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/a second profile has to send the test messages\nhint: .*enroll/),
  })
  expect(await run('verify', 'gemini', '--from', 'cleo')).toMatchObject({ code: 2 })
  expect(await run('verify', 'gemini', '--from', 'nobody')).toMatchObject({ code: 5 })
})

test('a good installation passes, a changed file does not, and no file is left', async () => {
  await enrolled(bridge, desk, 'dora')
  const verified = () => run('verify', 'gemini', '--in-place')
  let passed = await verified()
  // On a busy machine a hook may take longer than verify allows.
  for (const untilMs = performance.now() + 200_000; passed.code !== 0 && performance.now() < untilMs; )
    passed = await verified()
  expect([passed.code, passed.stderr]).toEqual([0, ''])
  expect(passed.stdout).toMatch(
    /ok +commands +4 installed commands answer, and are silent if the node is stopped/,
  )
  expect(passed.stdout).toMatch(/ok +answer +dora sees the message acknowledged/)
  expect(passed.stdout).toMatch(/ok +harness +Gemini CLI itself was not started: with your settings/)

  const file = join(desk.folder, '.gemini/extensions/agent-bridge/hooks/hooks.json')
  await writeFile(file, `${await readFile(file, 'utf8')} `)
  const { code, stdout } = await run('verify', 'gemini')
  expect([code, stdout]).toEqual([
    7,
    expect.stringMatching(/problem +files +a file of it was changed: .*hooks\.json/),
  ])
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('agent-bridge-verify'))).toEqual([])
  const left = readdirSync(desk.path('cleo', 'hooks'))
  expect(left.filter((name) => name.includes('verify'))).toEqual([])
})

test('the scripted model speaks three protocols, and answers requests without tools beside the script', async () => {
  const steps: Step[] = [
    { tool: /inbox$/, input: { limit: 1 } },
    { shell: 'ls' },
    { tool: /none/, input: {} },
  ]
  const model = await ScriptedModel.start((_request, number) => steps[number], Date.now)
  const ask = async (path: string, body: object) => {
    const reply = await fetch(`${model.url}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return reply.text()
  }
  const bash = { name: 'Bash' }
  const messages = [{ role: 'user', content: 'hello' }]
  try {
    expect(await ask('/v1/messages', { messages })).toContain('"text":"ok"')
    const called = JSON.parse(
      await ask('/v1/messages?beta=true', { messages, tools: [bash, { name: 'x__inbox' }] }),
    )
    expect(called).toMatchObject({
      stop_reason: 'tool_use',
      content: [{ name: 'x__inbox', input: { limit: 1 } }],
    })
    const input = [{ type: 'message' }]
    const events = await ask('/v1/responses', { input, tools: [{ type: 'function', name: 'shell_command' }] })
    expect(events).toContain(String.raw`"name":"shell_command","arguments":"{\"command\":\"ls\"}"`)
    expect(await ask('/v1/messages', { stream: true, messages, tools: [bash, bash] })).toContain(
      '(no tool none)',
    )
    expect(await ask('/v1/messages', { messages, tools: [bash, bash] })).toContain('(end of the script)')
    expect(model.requests).toHaveLength(4)
    const contents = [{ role: 'user', parts: [{ text: 'hello' }] }]
    const tools = [{ functionDeclarations: [{ name: 'run_shell_command' }] }]
    steps.push({ text: 'not asked' }, { shell: 'ls' }, { text: 'streamed' })
    const gemini = '/v1beta/models/gemini-2.5-flash'
    expect(JSON.parse(await ask(`${gemini}:generateContent`, { contents, tools }))).toMatchObject({
      candidates: [{ content: { parts: [{ functionCall: { args: { command: 'ls' } } }] } }],
    })
    const streamed = await ask(`${gemini}:streamGenerateContent?alt=sse`, { contents, tools })
    expect(streamed).toMatch(/^data: .*"text":"streamed".*\n\n$/)
    expect(await ask(`${gemini}:generateContent`, { contents })).toContain('"text":"ok"')
    expect(await ask(`${gemini}:countTokens`, { contents })).toContain('"totalTokens":10')
    expect(model.requests.slice(4).map(({ last }) => last)).toEqual(
      Array(2).fill(JSON.stringify(contents[0])),
    )
    expect((await fetch(`${model.url}/elsewhere`)).status).toBe(404)
  } finally {
    await model.close()
  }
})
