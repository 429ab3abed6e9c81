/** The owner's commands over several projects: state, live messages, addresses of the page. */
import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { OwnerInboxMessage, ProjectSnapshot } from '../../sdk/index.ts'
import { issueOwnerLink } from '../../server/host/init.ts'
import type { TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { Desk, type DeskOptions } from '../support/desk.ts'
import { createTask } from '../support/tasks.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  const link = await issueOwnerLink(testConfig(bridge.data))
  const login = ['admin', 'login', '--url', bridge.url, '--link']
  expect((await desk.run(login, { stdin: `${link}\n` })).code).toBe(0)
})

afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

const admin = (args: readonly string[], options: DeskOptions = {}) =>
  desk.run(['admin', ...args], { clock: bridge.clock, ...options })

/** Sends a message to the owner and returns its id. */
async function toOwner(agent: TestAgent, type: 'question' | 'note', body: string): Promise<string> {
  const conversation_id = await agent.conversationWith(agent.id)
  const { message } = await agent.ok<{ message: { id: string } }>({
    target: '/api/v1/messages',
    body: { conversation_id, recipient_agent_id: agent.id, type, body },
  })
  return message.id
}

interface Overview {
  readonly projects: ProjectSnapshot[]
  readonly questions: OwnerInboxMessage[]
  readonly has_more_questions: boolean
}

test('the state of one project is its snapshot', async () => {
  const { code, stdout } = await admin(['status'])
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^demo, active, observed /)])
  expect(await desk.json<ProjectSnapshot>(['admin', 'status'])).toMatchObject({ project: { name: 'demo' } })
})

test('the state of several projects has each, and the first line of each question to the owner', async () => {
  const other = await bridge.owner.createProject('other')
  const eve = await bridge.agent('eve', other.id)
  const first = await toOwner(bridge.ada, 'question', `May I merge?\u001b[2J\n${'x'.repeat(50)}`)
  await toOwner(bridge.ada, 'note', 'no question')
  const second = await toOwner(eve, 'question', 'y'.repeat(3000))

  const { code, stdout, stderr } = await admin(['status'])
  expect([code, stderr]).toEqual([0, `on the owner's page: ${bridge.url}/\n`])
  expect(stdout.split('\n\n')[0]?.split('\n')).toEqual([
    'questions to you:',
    expect.stringMatching(new RegExp(`^  ada in demo, .*, message ${first.slice(-8)}$`)),
    '  | May I merge?<U+001B>[2J',
    expect.stringMatching(new RegExp(`^  eve in other, .*, message ${second.slice(-8)}$`)),
    `  | ${'y'.repeat(120)} …`,
  ])
  expect(stdout).toMatch(/\n\ndemo, active, [\s\S]*\n\nother, active, /)

  const wire = await desk.json<Overview>(['admin', 'status'])
  expect(wire.projects.map(({ project }) => project.name)).toEqual(['demo', 'other'])
  expect(wire.questions.map(({ id }) => id)).toEqual([first, second])
  expect(wire).toMatchObject({ has_more_projects: false, has_more_questions: false })

  const one = await admin(['status', '--project', 'other'])
  expect(one.stdout).toMatch(/^other, active, /)
  expect(one.stdout).not.toContain('demo')
  expect(await admin(['status', '--project', 'nowhere'])).toMatchObject({ code: 3, stdout: '' })
})

test('the messages to the owner are printed as they come, those of one project only', async () => {
  const interruption = new AbortController()
  const before = Promise.withResolvers<void>()
  const after = Promise.withResolvers<void>()
  const onOutput = (text: string) => {
    if (text.includes('no question')) before.resolve()
    if (text.includes('it is done')) after.resolve()
  }
  const args = ['watch', '--messages', '--project', 'demo']
  const watching = admin(args, { interruption, onOutput })
  const early = watching.then((ended) => Promise.reject(new Error(JSON.stringify(ended))))
  await Promise.race([before.promise, early])
  await toOwner(bridge.ben, 'note', 'it is done')
  await Promise.race([after.promise, early])
  interruption.abort()
  early.catch(() => {})
  const { code, stdout } = await watching
  expect(code).toBe(130)
  // Each is printed once, oldest first, and none of the other project.
  expect(stdout.match(/^\w+ from agent \w+/gm)).toEqual([
    'question from agent ada',
    'note from agent ada',
    'note from agent ben',
  ])
})

test('the messages go on after the node did not answer a reading of them', async () => {
  let refused = 0
  const proxy = createServer((asked, answer) => {
    const isInbox = asked.url?.includes('/inbox') === true
    if (isInbox && refused < 5) {
      refused += 1
      asked.socket.destroy()
      return
    }
    const { method, headers } = asked
    const on = request(`${bridge.url}${asked.url}`, { ...(method && { method }), headers }, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers)
      given.pipe(answer)
    })
    on.on('error', () => answer.destroy())
    asked.pipe(on)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const link = await issueOwnerLink(testConfig(bridge.data))
  const login = ['admin', 'login', '--url', url, '--link', '--profile', 'through']
  expect((await desk.run(login, { stdin: `${link}\n` })).code).toBe(0)
  await toOwner(bridge.ada, 'note', 'after the outage')
  const interruption = new AbortController()
  const shown = Promise.withResolvers<void>()
  const args = ['watch', '--messages', '--project', 'demo', '--profile', 'through']
  const onOutput = (text: string) => text.includes('after the outage') && shown.resolve()
  const watching = admin(args, { interruption, onOutput })
  await Promise.race([shown.promise, watching.then((ended) => Promise.reject(new Error(ended.stderr)))])
  interruption.abort()
  const { code, stdout, stderr } = await watching
  expect([code, refused]).toEqual([130, 5])
  expect(stdout.match(/after the outage/g)).toHaveLength(1)
  expect(stderr).toContain('the node is unreachable, waiting: ')
  expect(stderr).toContain('the node is reachable again')
})

test('without --project, watch refuses to choose between several projects', async () => {
  for (const args of [['watch'], ['watch', '--messages']]) {
    expect(await admin(args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'bridge: there is more than one project: demo, other\nhint: --project chooses one\n',
    })
  }
})

test('open prints the address of an object on the page, and refuses one that it cannot place', async () => {
  const { id } = bridge.project
  const address = async (...args: string[]) => {
    const { code, stdout, stderr } = await admin(['open', ...args])
    expect([code, stderr]).toEqual([0, ''])
    return stdout
  }
  const task = '01980000-0000-7000-8000-000000000001'
  expect(await address()).toBe(`${bridge.url}\n`)
  expect(await address('project', 'demo')).toBe(`${bridge.url}/projects/${id}\n`)
  expect(await address('agent', 'ada', '--project', 'demo')).toBe(
    `${bridge.url}/projects/${id}/agents/${bridge.ada.id}\n`,
  )
  expect(await address('task', task, '--project', 'demo')).toBe(
    `${bridge.url}/projects/${id}/tasks/${task}\n`,
  )
  expect(await address('message', 'last', '--project', 'demo')).toMatch(
    new RegExp(`^${bridge.url}/projects/${id}/messages/[0-9a-f-]{36}\n$`),
  )
  const refused = [
    [['task'], 'which task? its id is missing'],
    [['task', 'no-id', '--project', 'demo'], 'this is not the id of a task'],
    [['task', task], 'there is more than one project'],
    [['house'], 'must be one of'],
  ] as const
  for (const [args, words] of refused) {
    const { code, stdout, stderr } = await admin(['open', ...args])
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)])
  }
})

test('state, task and audit name their address on the page, but not for programs', async () => {
  const { project, ada, ben, url } = bridge
  const { id } = await createTask(ada, ben)
  const home = `${url}/projects/${project.id}`
  const lines: readonly (readonly [args: readonly string[], address: string])[] = [
    [['status'], home],
    [['task', 'show', id], `${home}/tasks/${id}`],
    [['audit'], `${home}/audit`],
    [
      ['audit', '--kind', 'task.created', '--actor', 'ada', '--subject', id],
      `${home}/audit?kind=task.created&actor=${ada.id}&subject=${id}`,
    ],
  ]
  for (const [args, address] of lines) {
    const { code, stderr } = await admin([...args, '--project', 'demo'])
    expect([code, stderr]).toEqual([0, `on the owner's page: ${address}\n`])
    expect((await admin([...args, '--project', 'demo', '--json'])).stderr).toBe('')
  }
  expect((await admin(['audit', '--node'])).stderr).toBe(`on the owner's page: ${url}/audit\n`)
})

test('open --browser gives the printed address to the program that opens browsers', async () => {
  const folder = join(desk.folder, 'programs')
  const opened = join(desk.folder, 'opened')
  await mkdir(folder)
  const environment = { PATH: folder }
  const openBrowser = (...more: string[]) =>
    admin(['open', 'project', 'demo', '--browser', ...more], { environment })
  const address = `${bridge.url}/projects/${bridge.project.id}\n`

  expect(await openBrowser('--link')).toMatchObject({ code: 2, stdout: '' })
  const missing = await openBrowser()
  expect([missing.code, missing.stdout]).toEqual([1, address])
  expect(missing.stderr).toMatch(/^bridge: no browser was opened: .*\nhint: open the printed address/)

  for (const name of ['xdg-open', 'open']) {
    await writeFile(join(folder, name), `#!/bin/sh\necho "$1" >'${opened}'\n[ ! -e '${opened}.fail' ]\n`)
    await chmod(join(folder, name), 0o755)
  }
  expect(await openBrowser()).toMatchObject({ code: 0, stdout: address, stderr: '' })
  // A program that has not failed after two seconds has succeeded, also one that a busy machine has not started.
  await expect.poll(() => readFile(opened, 'utf8').catch(() => '')).toBe(address)
  await writeFile(`${opened}.fail`, '')
  await expect.poll(() => openBrowser()).toMatchObject({ code: 1, stdout: address })
})
