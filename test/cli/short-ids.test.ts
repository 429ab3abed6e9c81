/**
 * `last` and the ends of ids, in place of whole ids. Contract §12.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { kindOf } from '../../cli/ids/kinds.ts'
import { type SeenBounds, SeenIds } from '../../cli/ids/seen.ts'
import type { Message } from '../../sdk/contract/agent/messages.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'

let bridge: TestBridge
let desk: Desk
let cleo: Enrolled
let dan: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  cleo = await enrolled(bridge, desk, 'cleo')
  dan = await enrolled(bridge, desk, 'dan')
})

afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

const sent = async (text: string): Promise<string> => {
  const [{ message } = { message: { id: '' } }] = await cleo.lines<{ message: { id: string } }>(
    'send',
    'dan',
    text,
  )
  return message.id
}

/** A record in a folder of its own. */
function record(files: Readonly<Record<string, string>> = {}, bounds?: SeenBounds) {
  const folder = join(desk.folder, `seen-${Math.random()}`)
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return { folder, seen: new SeenIds(() => folder, bounds) }
}

const idOf = (end: string): string => `01a202cd-0000-7000-8000-${end.padStart(12, '0')}`
const message = (id: string) => ({ kind: 'message', id, how: 'printed', word: 'ben' }) as const

test('texts show ends of ids that later commands take, and JSON shows whole ids', async () => {
  const id = await sent('the first')
  const heard = await dan.bridge('listen', '--once', '--timeout', '20')
  expect(heard.stdout).toContain(`\nid ${id.slice(-8)}, number 1 in conversation `)
  expect(heard.stdout).not.toContain(id)
  const [shown] = await dan.lines<Message>('status', id.slice(-6))
  expect(shown?.id).toBe(id)
  for (const end of ['last', id, id.toUpperCase(), id.slice(-8).toUpperCase(), id.slice(-17)])
    expect([end, (await dan.bridge('ack', end)).code]).toEqual([end, 0])
})

test('an end that is unknown, too short, or of another kind is refused', async () => {
  expect(await dan.bridge('status', 'abcdef01')).toMatchObject({
    code: 3,
    stdout: '',
    stderr:
      'bridge: this profile has not printed a message whose id ends like this\nhint: list them first, or give the whole id\n',
  })
  for (const wrong of ['bcde1', 'latest', `${idOf('1')}0`])
    expect(await dan.bridge('status', wrong)).toMatchObject({ code: 2, stdout: '' })
  expect(await dan.bridge('task', 'show', 'last')).toMatchObject({
    code: 3,
    stderr: 'bridge: this profile has not printed a task yet\nhint: list them first, or give the id\n',
  })
  const [task] = await cleo.lines<{ id: string }>('task', 'create', 'dan', 'Count', 'the lines')
  const end = task?.id.slice(-8) ?? ''
  expect(await cleo.bridge('status', end)).toMatchObject({
    code: 2,
    stderr: 'bridge: this is the end of the id of a task; the command takes a message\n',
  })
  // Another profile has not seen the task, until it prints it.
  expect((await dan.bridge('task', 'claim', end)).code).toBe(3)
  expect((await dan.bridge('task', 'list')).stdout).toContain(`\n${end}  open `)
  expect((await dan.bridge('task', 'claim', 'last')).code).toBe(0)
})

test('an ambiguous end names the candidates', async () => {
  const ids = [idOf('7aaaabbbb'), idOf('8aaaabbbb')]
  const path = desk.path('dan', 'seen', 'message')
  writeFileSync(path, `${readFileSync(path, 'utf8')}${ids[0]} p ada\n${ids[1]} m dan\n`)
  expect(await dan.bridge('status', 'aabbbb')).toMatchObject({
    code: 2,
    stderr:
      'bridge: more than one id ends like this: message 7aaaabbbb (ada), message 8aaaabbbb (dan)\nhint: give more of the end\n',
  })
})

test('last is the last of its kind, for ack and reply the last of somebody else', async () => {
  const id = await sent('do you hear me?')
  await dan.bridge('listen', '--once', '--timeout', '20')
  const [reply] = await dan.lines<{ message: Message }>('reply', 'last', 'loud and clear')
  expect(reply?.message.in_reply_to).toBe(id)
  expect((await dan.lines<Message>('status', 'last'))[0]?.id).toBe(reply?.message.id)
  expect((await dan.bridge('ack', 'last')).stdout).toBe('acknowledged 1\n')
  expect((await cleo.lines<Message>('status', id))[0]?.delivery.acknowledged_at).not.toBeNull()
})

test('a name wins over last and over the end of an id', async () => {
  const last = await enrolled(bridge, desk, 'last')
  await last.bridge('session', 'start')
  await cleo.bridge('peers')
  expect(await cleo.bridge('send', 'last', 'to the agent with this name')).toMatchObject({ code: 0 })
  expect((await last.lines<Message>('listen', '--once', '--timeout', '20'))[0]?.body).toContain('this name')
  expect((await cleo.bridge('send', dan.id.slice(-8), 'by the end of its id')).code).toBe(0)
  expect(await cleo.bridge('send', 'facade', 'to nobody')).toMatchObject({ code: 3 })
})

test('a body keeps the ids in it', async () => {
  const id = await sent('the original')
  await sent(`see ${id}`)
  const { stdout } = await dan.bridge('inbox')
  expect(stdout).toContain(`\n| see ${id}`)
  expect(stdout).toContain(`\nid ${id.slice(-8)}, `)
})

test('the record is private and has neither bodies nor keys', async () => {
  await sent('a confidential body')
  await dan.bridge('inbox')
  await dan.bridge('whoami')
  const folder = desk.path('dan', 'seen')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    expect([name, statSync(path).mode & 0o777]).toEqual([name, 0o600])
    for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1))
      expect(line).toMatch(/^[0-9a-f-]{36} [pmsn] [a-z]*$/)
  }
})

test('where nothing can be recorded, texts show whole ids and the command succeeds', async () => {
  const lone = await enrolled(bridge, desk, 'lone')
  rmSync(desk.path('lone', 'seen'), { recursive: true })
  writeFileSync(desk.path('lone', 'seen'), '')
  const { folder } = record()
  const blocked = new SeenIds(() => join(folder, 'missing', 'seen'))
  blocked.add([message(idOf('1'))])
  expect(blocked.shorten(`id ${idOf('1')}`, [message(idOf('1'))])).toBe(`id ${idOf('1')}`)
  const shown = await lone.bridge('whoami')
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining(`agent lone (${lone.id})`) })
})

test('a line that was cut off is skipped, and what follows is kept', () => {
  const { seen, folder } = record({ message: `${idOf('1')} p ada\n${idOf('2').slice(0, 20)}` })
  seen.add([message(idOf('3'))])
  expect(seen.all('message').map(({ id }) => id)).toEqual([idOf('1'), idOf('3')])
  expect(readFileSync(join(folder, 'message'), 'utf8').endsWith(`\n${idOf('3')} p ben\n`)).toBe(true)
})

test('a line whose id is none names no object', () => {
  const damaged = [idOf('abcdef1').replace('a202', '....'), `../../../${'x'.repeat(20)}abcdef1`]
  const { seen } = record({ message: damaged.map((id) => `${id} p ada\n`).join('') })
  expect(damaged.map(({ length }) => length)).toEqual([36, 36])
  expect(seen.all('message')).toEqual([])
})

test('the record is bounded, keeps the latest ids, and grows by nothing that it has', async () => {
  const bounds = { fileBytes: 8 * 1024, lines: 100 }
  const { seen, folder } = record({}, bounds)
  const all = Array.from({ length: 1000 }, (_, n) => message(idOf(n.toString(16).padStart(8, 'a'))))
  for (let at = 0; at < all.length; at += 50) {
    seen.add(all.slice(at, at + 50))
    await seen.settled()
  }
  const sizes = () => readdirSync(folder).map((name) => statSync(join(folder, name)).size)
  expect(sizes().reduce((sum, size) => sum + size)).toBeLessThan(3 * bounds.fileBytes)
  const kept = seen.all('message').map(({ id }) => id)
  expect(kept.slice(-150)).toEqual(all.slice(-150).map(({ id }) => id))
  const before = sizes()
  seen.add(all.slice(-50))
  expect(sizes()).toEqual(before)
})

test('several processes may fill and replace the files at once', async () => {
  const { folder } = record()
  const bounds = { fileBytes: 8 * 1024, lines: 100 }
  const records = Array.from({ length: 8 }, () => new SeenIds(() => folder, bounds))
  const made: string[] = []
  for (let round = 0; round < 60; round += 1)
    for (const [n, seen] of records.entries()) {
      const id = idOf(`${round.toString(16).padStart(4, '0')}000${n}`)
      made.push(id)
      seen.add([message(id)])
    }
  await Promise.all(records.map((seen) => seen.settled()))
  const kept = new Set(new SeenIds(() => folder).all('message').map(({ id }) => id))
  expect(made.slice(-150).filter((id) => !kept.has(id))).toEqual([])
})

test('an ending of the record is as long as it must be to be unique', () => {
  const { seen } = record({ message: `${idOf('1bbbbcccc')} p ada\n` })
  expect(seen.short('message', idOf('2aaaabbbb'))).toBe('aaaabbbb')
  expect(seen.short('message', idOf('2bbbbcccc'))).toBe('2bbbbcccc')
  expect(seen.short('task', idOf('2bbbbcccc'))).toBe('bbbbcccc')
  expect(seen.short('task', idOf('2bbbbcccc'), [{ ...message(idOf('3bbbbcccc')), kind: 'task' }])).toBe(
    '2bbbbcccc',
  )
})

test('entries of the outbox are named by their ends, or by last', async () => {
  const { identity } = JSON.parse(readFileSync(desk.path('cleo', 'profile.json'), 'utf8'))
  const { server_id, agent } = identity
  const folder = desk.path('cleo', 'outbox')
  mkdirSync(folder, { recursive: true })
  const created_at = new Date().toISOString()
  const kept = (id: string) => {
    const draft = { to: 'dan', type: 'note', body: `kept as ${id}` }
    const entry = { id, created_at, server_id, agent_id: agent.id, idempotency_key: id, request: null, draft }
    writeFileSync(join(folder, `${id}.kept`), JSON.stringify(entry))
    return id
  }
  const [first, second, third] = ['1-aaCdEf12', '2-bbCdEf12', '3-xxxxxxXX'].map((end) =>
    kept(`${Date.now().toString().slice(0, -1)}${end}`),
  )
  expect(await cleo.bridge('outbox', 'drop', 'CdEf12')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `bridge: more than one entry of the outbox ends like this: ${first}, ${second}\nhint: give more of the end\n`,
  })
  // Five characters are too few, and upper case differs from lower case.
  for (const wrong of ['xxxXX', 'XXXXXXxx', 'xxxxxx'])
    expect(await cleo.bridge('outbox', 'drop', wrong, 'last')).toMatchObject({ code: 3, stdout: '' })
  expect((await cleo.bridge('outbox', 'drop', 'last', 'xxxxXX')).stdout).toBe(`dropped ${third}\n`)
  expect(await cleo.bridge('outbox', 'flush', 'aaCdEf12')).toMatchObject({
    code: 0,
    stdout: `sent from the outbox: ${first}\n`,
  })
  expect((await cleo.bridge('outbox', 'flush', 'last')).stdout).toBe(`sent from the outbox: ${second}\n`)
  expect(await cleo.bridge('outbox', 'drop', 'last')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('the outbox is empty'),
  })
})

/** Its answer is only id and name. */
const unnamed = new Set(['owner.agents.rename'])

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

test('the kind of every answer with an id is known', () => {
  const answers = endpoints.flatMap(({ id, response }) => {
    const { properties = {} } = response as Schema
    return 'id' in properties && !unnamed.has(id) ? [{ id, properties }] : []
  })
  expect(answers.length).toBeGreaterThan(20)
  const unknown = answers.filter(({ properties }) => kindOf(properties) === undefined)
  expect(unknown.map(({ id, properties }) => [id, Object.keys(properties).join()])).toEqual([])
})
