/** Our plugin for opencode, run as opencode runs it, with a hook program that answers as the test says. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { pluginText } from '../../../cli/hooks/install/opencode-plugin.ts'

interface Output {
  parts?: object[]
  output?: string
  content?: object[]
}
interface Plugin {
  config(config: object): Promise<void>
  event(given: { event: { type: string; properties: object } }): Promise<void>
  'chat.message'(input: { sessionID: string }, output: Output): Promise<void>
  'tool.execute.after'(input: { sessionID: string }, output: Output): Promise<void>
  'experimental.text.complete'(input: { sessionID: string }): Promise<void>
}

let loaded = 0
let folder: string
/** Sessions that opencode knows, by id. */
let sessions: Record<string, { readonly parentID?: string }>
let prompts: { path: { id: string }; body: { parts: { text: string }[]; noReply?: boolean } }[]
let others: readonly ((code: number) => void)[]
beforeEach(async () => {
  others = process.listeners('exit')
  folder = await mkdtemp(join(tmpdir(), 'plugin-'))
  prompts = []
  sessions = { s1: {} }
})
afterEach(async () => {
  // The plugin ends its waiters when opencode exits.
  for (const listener of process.listeners('exit'))
    if (!others.includes(listener)) process.removeListener('exit', listener)
  await rm(folder, { recursive: true, force: true })
})

/**
 * Loads the plugin. `notices` has what each event's hook answers; a hook logs its input. A slow one waits until the
 * file `go` is there.
 */
async function load(notices: Record<string, unknown>, slow: readonly string[] = []): Promise<Plugin> {
  const hook = join(folder, 'hook.mjs')
  await writeFile(
    hook,
    `import { appendFileSync, existsSync } from 'node:fs'
     const event = process.argv.at(-1)
     let text = ''
     for await (const chunk of process.stdin) text += chunk
     appendFileSync(${JSON.stringify(join(folder, 'log'))}, text + '\\n')
     while (${JSON.stringify(slow)}.includes(event) && !existsSync(${JSON.stringify(join(folder, 'go'))}))
       await new Promise((resolve) => setTimeout(resolve, 10))
     const answer = ${JSON.stringify(notices)}[event]
     if (answer !== undefined) console.log(typeof answer === 'string' ? answer : JSON.stringify(answer))`,
  )
  const facts = {
    hook: [process.execPath, hook],
    hookMs: 60_000,
    server: ['/node', '/bridge', 'mcp'],
    name: 'agent-bridge',
  }
  // A path of its own, because a module is loaded once.
  loaded += 1
  const path = join(folder, `plugin-${loaded}.mjs`)
  await writeFile(path, pluginText(facts))
  const { AgentBridge } = await import(pathToFileURL(path).href)
  const promptAsync = async (prompt: (typeof prompts)[number]) => {
    prompts.push(prompt)
  }
  const get = async ({ path: { id } }: { path: { id: string } }) => ({ data: sessions[id] })
  return AgentBridge({
    client: { session: { promptAsync, prompt: promptAsync, get } },
    directory: '/project',
  })
}

const inputs = async (): Promise<Record<string, unknown>[]> =>
  (await readFile(join(folder, 'log'), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
const events = async () => (await inputs()).map((input) => input.hook_event_name)

const idle = { event: { type: 'session.idle', properties: { sessionID: 's1' } } }

test('the notice of a prompt is one more part of it, and that of a tool is in its result', async () => {
  const plugin = await load({ 'chat.message': { notice: 'one' }, 'tool.execute.after': { notice: 'two' } })
  const given = { id: 'prt_1', sessionID: 's1', messageID: 'm1', type: 'text', text: 'hi' }
  const message = { parts: [given] }
  await plugin['chat.message']({ sessionID: 's1' }, message)
  const added = { sessionID: 's1', messageID: 'm1', type: 'text', text: 'one', synthetic: true }
  expect(message.parts).toEqual([given, { id: 'prt_1n', ...added }])
  const result = { output: 'done' }
  await plugin['tool.execute.after']({ sessionID: 's1' }, result)
  expect(result.output).toBe('done\n\ntwo')
  const content = [{ type: 'text', text: 'of a server' }]
  await plugin['tool.execute.after']({ sessionID: 's1' }, { content })
  expect(content[1]).toEqual({ type: 'text', text: 'two' })
  expect((await inputs())[1]).toEqual({ session_id: 's1', cwd: '/project', hook_event_name: 'chat.message' })
})

const created = { event: { type: 'session.created', properties: { info: { id: 's1' } } } }
const ask = async (plugin: Plugin) => {
  const parts: { id: string; text?: string }[] = [{ id: 'prt_1' }]
  await plugin['chat.message']({ sessionID: 's1' }, { parts })
  return parts[1]?.text
}

test('the first prompt waits for the notice of the start, however slow its hook is', async () => {
  const plugin = await load({ 'session.created': { notice: 'start' } }, ['session.created'])
  await plugin.event(created)
  const first = ask(plugin)
  await vi.waitFor(async () => expect(await events()).toEqual(['session.created']), 60_000)
  await writeFile(join(folder, 'go'), '')
  expect(await first).toBe('start')
  expect(await ask(plugin)).toBeUndefined()
  expect(await events()).toEqual(['session.created', 'chat.message'])
})

test('a prompt before the event of its session starts the session, once', async () => {
  const plugin = await load({ 'session.created': { notice: 'start' }, 'chat.message': { notice: 'prompt' } })
  expect(await ask(plugin)).toBe('start')
  await plugin.event(created)
  expect([await ask(plugin), await events()]).toEqual(['prompt', ['session.created', 'chat.message']])
})

test('if the hook of the start says nothing, that of the first prompt may', async () => {
  const plugin = await load({ 'chat.message': { notice: 'prompt' } })
  await plugin.event(created)
  expect([await ask(plugin), await events()]).toEqual(['prompt', ['session.created', 'chat.message']])
})

test('a prompt before the event of a session of a subagent gets nothing', async () => {
  sessions = { s1: { parentID: 's0' } }
  const plugin = await load({ 'session.created': { notice: 'start' }, 'chat.message': { notice: 'prompt' } })
  expect([await ask(plugin), await events()]).toEqual([undefined, []])
})

test('at the end of a turn the notice continues it, and the next end says so; then the waiter runs', async () => {
  const plugin = await load({ 'session.idle': { notice: 'mail' } })
  await plugin.event(idle)
  await vi.waitFor(() => expect(prompts).toHaveLength(1), 60_000)
  expect(prompts[0]).toEqual({
    path: { id: 's1' },
    body: { parts: [{ type: 'text', text: 'mail', synthetic: true }] },
  })
  await plugin.event(idle)
  await vi.waitFor(() => expect(prompts).toHaveLength(2), 60_000)
  await vi.waitFor(async () => expect(await events()).toContain('wait'), 60_000)
  const ends = (await inputs()).filter((input) => input.hook_event_name === 'session.idle')
  expect(ends.map((input) => input.stop_hook_active)).toEqual([false, true])
})

test('in opencode run, mail at the end of a text goes into the running turn, once; elsewhere it does not', async () => {
  const words = process.argv
  onTestFinished(() => {
    process.argv = words
  })
  process.argv = ['bun', '/opencode', 'run', 'hello']
  const plugin = await load({ 'session.idle': { notice: 'mail' } })
  for (let texts = 0; texts < 2; texts += 1) await plugin['experimental.text.complete']({ sessionID: 's1' })
  const parts = [{ type: 'text', text: 'mail', synthetic: true }]
  expect(prompts).toEqual([{ path: { id: 's1' }, body: { parts, noReply: true } }])
  await plugin.event(idle)
  await vi.waitFor(async () => expect(await events()).toContain('wait'), 60_000)
  expect((await inputs()).map((input) => input.stop_hook_active)).toEqual([false, true, undefined])

  process.argv = ['bun', '/opencode', '--prompt', 'hello']
  await rm(join(folder, 'log'))
  const other = await load({ 'session.idle': { notice: 'mail' } })
  await other['experimental.text.complete']({ sessionID: 's1' })
  expect(await events()).toEqual([])
})

test('a waiter with mail wakes the idle session', async () => {
  const plugin = await load({ wait: { notice: 'mail' } })
  await plugin.event(idle)
  await vi.waitFor(() => expect(prompts.map(({ body }) => body.parts[0]?.text)).toEqual(['mail']), 60_000)
  expect(await events()).toEqual(['session.idle', 'wait'])
})

test.each([
  ['no answer', undefined],
  ['broken JSON', '{"notice":'],
  ['an empty notice', { notice: '' }],
  ['no text', { notice: 7 }],
])('a hook with %s changes nothing', async (_what, answer) => {
  const plugin = await load(answer === undefined ? {} : { 'tool.execute.after': answer })
  const result = { output: 'done' }
  await plugin['tool.execute.after']({ sessionID: 's1' }, result)
  expect(result.output).toBe('done')
})

test('a session of a subagent gets nothing', async () => {
  const plugin = await load({ 'chat.message': { notice: 'one' }, 'tool.execute.after': { notice: 'two' } })
  const properties = { info: { id: 's1', parentID: 's0' } }
  await plugin.event({ event: { type: 'session.created', properties } })
  const result = { output: 'done', parts: [{ id: 'prt_1' }] }
  await plugin['tool.execute.after']({ sessionID: 's1' }, result)
  await plugin['chat.message']({ sessionID: 's1' }, result)
  await plugin.event(idle)
  expect([result, await inputs()]).toEqual([{ output: 'done', parts: [{ id: 'prt_1' }] }, []])
})

test("it registers the MCP server, and leaves a server of this name that is the user's", async () => {
  const plugin = await load({})
  const [empty, own] = [{}, { mcp: { 'agent-bridge': { enabled: false } } }]
  await plugin.config(empty)
  await plugin.config(own)
  const server = { type: 'local', command: ['/node', '/bridge', 'mcp'], enabled: true }
  expect([empty, own]).toEqual([
    { mcp: { 'agent-bridge': server } },
    { mcp: { 'agent-bridge': { enabled: false } } },
  ])
})
