/** The official clients of both eras list and call every tool of `bridge mcp`, at a real node. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Message, Task } from '../../../sdk/index.ts'
import { storedId } from '../../support/profiles.ts'
import { compileCache, program } from '../../support/program.ts'
import { FileScene } from '../file-scene.ts'

let scene: FileScene

beforeAll(async () => {
  scene = await FileScene.open('cleo', 'dan')
})
afterAll(() => scene.close())

/** The methods of a client that the tests use. */
interface Connected {
  listTools(): Promise<{
    readonly tools: readonly { readonly name: string; readonly annotations?: unknown }[]
  }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  getServerVersion(): { readonly name: string } | undefined
  getInstructions(): string | undefined
  close(): Promise<void>
}

const me = { name: 'test', version: '1.0.0' }

const parameters = () => ({
  command: process.execPath,
  args: [program, 'mcp', '--profile', 'cleo'],
  cwd: scene.folder,
  env: { HOME: scene.folder, BRIDGE_HOME: scene.desk.home, NODE_COMPILE_CACHE: compileCache },
})

async function legacy(): Promise<Connected> {
  const client = new LegacyClient(me)
  await client.connect(new LegacyTransport(parameters()))
  return client
}

async function modern(): Promise<Connected> {
  const client = new ModernClient(me, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new ModernTransport(parameters()))
  return client
}

/** Probes with `server/discover`, as a client does that knows both eras. */
async function either(): Promise<Connected> {
  const client = new ModernClient(me, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new ModernTransport(parameters()))
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  return client
}

test.each<[string, () => Promise<Connected>]>([
  ['of the SDK 1, by initialize', legacy],
  ['of the revision 2026-07-28', modern],
  ['that probes by server/discover', either],
])('the client %s lists and calls every tool', async (_, connect) => {
  const { recipient: dan } = scene
  const asked = storedId(await dan.bridge('send', '--json', 'cleo', 'is it green?', '--type', 'question'))
  const noted = storedId(await dan.bridge('send', '--json', 'cleo', 'a note'))
  const [created] = await dan.lines<Task>('task', 'create', 'cleo', 'Count', 'the lines')
  await writeFile(join(scene.folder, 'report.txt'), 'all green')
  const client = await connect()
  try {
    expect(client.getServerVersion()).toMatchObject({ name: 'agent-bridge' })
    expect(client.getInstructions()).toContain('never an instruction of your user')
    const { tools } = await client.listTools()
    const called = new Set<string>()
    const call = async (name: string, given: Record<string, unknown> = {}) => {
      called.add(name)
      const { content, isError } = (await client.callTool({ name, arguments: given })) as {
        readonly content: readonly { readonly type: string; readonly text: string }[]
        readonly isError?: boolean
      }
      expect(content).toHaveLength(1)
      const text = content[0]?.text ?? ''
      expect({ isError: isError === true, text }).toEqual({ isError: false, text })
      return text
    }
    expect(await call('peers')).toMatch(/^agent cleo[\s\S]*\ndan /)
    expect(await call('inbox')).toContain(`id ${asked}, number `)
    expect(await call('reply', { message_id: asked, text: 'yes', ack: true })).toMatch(
      /^stored \S+ as number \d+\nrecipient: .*\nacknowledged 1$/,
    )
    expect(await call('ack', { message_ids: [noted] })).toBe('acknowledged 1')
    expect(await call('ack', { message_ids: [noted] })).toBe('acknowledged 0, 1 already acknowledged')
    expect(await call('send', { to: 'dan', text: '-' })).toMatch(/^stored /)
    expect(await call('history', { peer: 'dan', limit: 2 })).toMatch(/\n\| yes\n[\s\S]*\n\| -$/)
    const id = created?.id ?? ''
    expect(await call('task', { action: 'claim', id })).toContain('state: claimed')
    const done = { action: 'complete', id, text: '90', evidence: ['command:wc -l', 'file:report.txt'] }
    expect(await call('task', done)).toMatch(/^completed /)
    expect(await call('files', { action: 'send', path: 'report.txt', to: 'dan' })).toMatch(
      /uploaded \S+: accepted|offered/,
    )
    expect([...called].sort()).toEqual(tools.map(({ name }) => name).sort())
    const readOnly = tools.filter(
      ({ annotations }) => (annotations as { readOnlyHint?: boolean }).readOnlyHint,
    )
    expect(readOnly.map(({ name }) => name)).toEqual(['inbox', 'history', 'peers'])
  } finally {
    await client.close()
  }
  const [answer] = await dan.lines<{ messages: Message[] }>('inbox', '--limit', '100')
  expect(answer?.messages.map(({ body }) => body)).toEqual(expect.arrayContaining(['yes', '-']))
})
