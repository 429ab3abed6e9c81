/**
 * Every endpoint of the contract is available at each level: route, SDK method, command.
 *
 * Each table is a `Record<EndpointId, …>`, so it does not compile while an endpoint is missing.
 */
import { randomBytes } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import type { CliContext } from '../../cli/context.ts'
import { program } from '../../cli/program.ts'
import { type EndpointId, endpoints } from '../../sdk/contract/index.ts'
import { namedSchemas } from '../../sdk/contract/primitives.ts'
import { createApp, useRoutes } from '../../server/app.ts'
import type { Context } from '../../server/context.ts'
import { assetPath, pagePaths } from '../../server/http/page-paths.ts'
import { listeningNode, peopleOf, sdkMethods } from './reaches.ts'

/** Building routes and commands has no effect yet, so it must not use its context. */
function untouched<T extends object>(known: Partial<T> = {}): T {
  return new Proxy(known as T, {
    get(of, name) {
      if (name in of) return of[name as keyof T]
      throw new Error(`${String(name)} was asked for while nothing was asked yet`)
    },
  })
}

/** The command by which a person calls each endpoint. */
const commands: Record<EndpointId, string | { readonly none: string }> = {
  'health.get': 'server status',
  'health.ready': 'server status',
  'health.openapi': { none: 'for programs that are made from the description' },

  'client.get': { none: 'for the line of an enrolment prompt, which runs before the program is there' },
  'client.download': { none: 'for the same line' },
  'enrollments.claim': 'enroll',
  'bootstrap.get': 'whoami',
  'guides.messaging': 'guide',
  'guides.tasks': 'guide',
  'guides.transfers': 'guide',
  'guides.packages': 'guide',
  'sessions.challenge': 'session start',
  'sessions.start': 'session start',
  'sessions.close': 'session close',
  'connectionMode.report': 'schedule',
  'recipientKeys.register': 'key register',
  'recipientKeys.ofConversation': { none: 'for what seals a message or file, which no command does yet' },
  'peers.list': 'peers',
  'conversations.open': 'send',
  'conversations.list': 'conversations',
  'conversations.get': 'history',
  'conversations.history': 'history',
  'messages.send': 'send',
  'messages.get': 'status',
  'inbox.read': 'listen',
  'inbox.list': 'inbox',
  'acknowledgements.create': 'ack',
  'tasks.create': 'task create',
  'tasks.list': 'task list',
  'tasks.get': 'task show',
  'tasks.timeline': 'task show',
  'tasks.claim': 'task claim',
  'tasks.renew': 'task renew',
  'tasks.progress': 'task progress',
  'tasks.complete': 'task complete',
  'tasks.fail': 'task fail',
  'tasks.release': 'task release',
  'tasks.decline': 'task decline',
  'tasks.cancel': 'task cancel',
  'tasks.stopped': 'task stopped',
  'streams.events': 'listen',
  'streams.socket': 'listen',

  'transfers.create': 'transfer send',
  'transfers.list': 'transfer list',
  'transfers.get': 'transfer show',
  'transfers.accept': 'transfer accept',
  'transfers.decline': 'transfer decline',
  'transfers.cancel': 'transfer cancel',
  'transfers.fail': { none: 'for programs: a person cancels, and says why' },
  'transfers.receipt': 'transfer receive',
  'transfers.cleanup': 'transfer cleanup',
  'transfers.deposit': { none: 'for programs that run a helper: bridge.transfers.deposit' },
  'transfers.secret': { none: 'for programs that fetch from a helper: bridge.transfers.secret' },
  'packages.status': 'transfer send',
  'packages.putPart': 'transfer send',
  'packages.finalize': 'transfer send',
  'packages.getPart': 'transfer receive',
  'packages.file': { none: 'for clients that take a package whole, such as curl' },
  'owner.transfers.list': 'admin transfer list',
  'owner.transfers.get': 'admin transfer show',
  'owner.transfers.cancel': 'admin transfer cancel',

  'owner.signIn.setup': 'admin setup',
  'owner.signIn.start': 'admin login',
  'owner.signIn.current': 'admin whoami',
  'owner.signIn.close': 'admin logout',
  'owner.signIn.confirm': 'admin enrollment create',
  'owner.signIn.password': 'admin password',
  'owner.signIn.list': 'admin sessions list',
  'owner.signIn.revoke': 'admin sessions revoke',
  'owner.administrators.list': 'admin administrator list',
  'owner.administrators.create': 'admin administrator create',
  'owner.administrators.link': 'admin administrator link',
  'owner.administrators.assign': 'admin administrator assign',
  'owner.administrators.setState': 'admin administrator state',
  'owner.projects.list': 'admin project list',
  'owner.projects.create': 'admin project create',
  'owner.projects.setState': 'admin project state',
  'owner.projects.change': 'admin project change',
  'owner.projects.delete': 'admin project delete',
  'owner.environments.create': 'admin environment create',
  'owner.environments.change': 'admin environment change',
  'owner.environments.list': 'admin environment list',
  'owner.agents.create': 'admin agent create',
  'owner.agents.list': 'admin agent list',
  'owner.agents.get': 'admin agent show',
  'owner.agents.setState': 'admin agent state',
  'owner.agents.change': 'admin agent change',
  'owner.agents.rename': 'admin agent name',
  'owner.agents.instructions': 'admin agent instructions',
  'owner.agents.setInstructions': 'admin agent instructions',
  'owner.environments.get': 'admin environment show',
  'owner.enrollments.list': 'admin enrollment list',
  'owner.enrollments.read': { none: 'admin enrollment show asks by the agent, which a person knows' },
  'owner.enrollments.revoke': 'admin enrollment revoke',
  'owner.credentials.get': 'admin credential show',
  'owner.pairings.set': 'admin pairing disable',
  'owner.pairings.list': 'admin pairing list',
  'owner.enrollments.create': 'admin enrollment create',
  'owner.enrollments.get': 'admin enrollment show',
  'owner.credentials.issue': 'admin credential issue',
  'owner.credentials.list': 'admin credential list',
  'owner.credentials.revoke': 'admin credential revoke',
  'owner.takeovers.issue': 'admin takeover',
  'owner.recipientKeys.set': 'admin agent recipient-key',
  'owner.messages.send': 'admin message',
  'owner.messages.acknowledge': 'admin ack',
  'owner.inbox.list': 'admin inbox',
  'owner.inbox.ofProject': 'admin inbox',
  'owner.conversations.list': 'admin conversations',
  'owner.conversations.get': 'admin history',
  'owner.conversations.history': 'admin history',
  'telemetry.report': {
    none: 'for the program that measures another host; operations.md shows it with curl',
  },
  'owner.telemetry.list': 'admin telemetry',
  'owner.telemetry.history': 'admin telemetry',
  'owner.snapshots.get': 'admin status',
  'owner.audit.list': 'admin audit',
  'owner.audit.get': 'admin audit',
  'owner.audit.node': 'admin audit',
  'owner.audit.events': 'admin audit',
  'owner.tasks.create': 'admin task create',
  'owner.tasks.list': 'admin task list',
  'owner.tasks.get': 'admin task show',
  'owner.tasks.timeline': 'admin task show',
  'owner.tasks.cancel': 'admin task cancel',
}

const ids = endpoints.map(({ id }) => id as EndpointId)
const routeOf = (path: string) => path.replace(/\{([a-z_]+)\}/g, ':$1')

async function builtRoutes() {
  const app = createApp({ logLevel: 'silent', random: randomBytes, answerHeaders: {} })
  const built: string[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) built.push(`${each} ${url}`)
  })
  await useRoutes(app, untouched<Context>())
  await app.ready()
  return { app, built }
}

test('ids are unique and no two endpoints share a method and path', () => {
  expect(ids).toEqual([...new Set(ids)])
  const places = endpoints.map(({ method, path }) => `${method} ${path.replace(/\{[a-z_]+\}/g, '{}')}`)
  expect(places).toEqual([...new Set(places)])
})

test('the tables contain exactly the endpoints of the contract', () => {
  expect(Object.keys(sdkMethods).sort()).toEqual([...ids].sort())
  expect(Object.keys(commands).sort()).toEqual([...ids].sort())
})

test('the server has a route for every endpoint and for the page, and no other route', async () => {
  const { app, built } = await builtRoutes()
  for (const { id, method, path } of endpoints) {
    expect([id, app.hasRoute({ method, url: routeOf(path) })]).toEqual([id, true])
  }
  const pages = [...pagePaths, assetPath].map((path) => `GET ${path}`)
  expect(built.sort()).toEqual(
    [...pages, ...endpoints.map(({ method, path }) => `${method} ${routeOf(path)}`)].sort(),
  )
  await app.close()
})

test.each(endpoints.map((entry) => ({ id: entry.id, entry })))(
  'the SDK can call $id',
  async ({ id, entry }) => {
    const reach = sdkMethods[id as EndpointId]
    if (typeof reach !== 'function') {
      expect(reach.none).not.toBe('')
      return
    }
    const { asked, fetch } = listeningNode()
    await reach(peopleOf(fetch)).catch(() => 'refused, as everything is')
    const place = new RegExp(`^${entry.method} ${entry.path.replace(/\{[a-z_]+\}/g, '[^/]+')}$`)
    expect(asked.filter((each) => place.test(each))).toHaveLength(1)
  },
)

test.each(ids)('a command calls %s', async (id) => {
  const words = commands[id]
  if (typeof words !== 'string') {
    expect(words.none).not.toBe('')
    return
  }
  const root = await program(untouched<CliContext>({ program: undefined }))
  const found = words
    .split(' ')
    .reduce<typeof root | undefined>(
      (command, word) => command?.commands.find((child) => child.name() === word),
      root,
    )
  expect(found?.name()).toBe(words.split(' ').at(-1))
})

/** The server uses the schemas unchanged. */
test('every schema of the contract is a valid JSON schema', () => {
  const ajv = new Ajv2020({ validateFormats: false })
  for (const [name, schema] of namedSchemas) expect(ajv.validateSchema(schema), name).toBe(true)
  for (const { id, params, query, body, response } of endpoints) {
    for (const schema of [params, query, body, response]) {
      if (schema !== undefined) expect(ajv.validateSchema(schema), `${id} ${ajv.errorsText()}`).toBe(true)
    }
  }
  expect(ajv.validateSchema({ type: 'sting' })).toBe(false)
})
