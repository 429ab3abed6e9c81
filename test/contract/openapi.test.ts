/**
 * The API description of a running server: compared with the interface, checked by a public linter, and used
 * to generate a client with a public generator, which must compile and work.
 *
 * Interface §2, §4.1, §9.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { build, stop } from 'esbuild'
import { generate } from 'openapi-typescript-codegen'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callerErrors } from '../../sdk/contract/endpoint.ts'
import { errors } from '../../sdk/contract/errors.ts'
import { contract, type EndpointId, endpoints } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { generateKeyPair } from '../../sdk/signing/keys.ts'
import { claimBody } from '../support/agent.ts'
import { startBridge } from '../support/bridge.ts'
import {
  answerOf,
  nameOf,
  type OpenapiDocument,
  type Operation,
  schemaOf,
  servedDocument,
} from './served-document.ts'

let document: OpenapiDocument

beforeAll(async () => {
  document = await servedDocument()
})

const operation = ({ path, method }: { readonly path: string; readonly method: string }): Operation => {
  const found = document.paths[path]?.[method.toLowerCase()]
  if (found === undefined) throw new Error(`${method} ${path} is not described`)
  return found
}

/** The schema names that the interface gives for an endpoint. */
const interfaceNames: Partial<Record<EndpointId, { readonly body?: string; readonly response?: string }>> = {
  'sessions.start': { body: 'SessionInput' },
  'conversations.open': { body: 'ConversationInput' },
  'conversations.history': { response: 'MessagePage' },
  'messages.send': { body: 'MessageInput' },
  'messages.get': { response: 'Message' },
  'acknowledgements.create': { body: 'Acknowledgements' },
  'owner.projects.list': { response: 'ProjectList' },
  'owner.projects.create': { body: 'ProjectInput', response: 'Project' },
  'owner.projects.setState': { body: 'ProjectStateInput', response: 'ProjectStateInput' },
  'owner.environments.create': { body: 'EnvironmentInput', response: 'Environment' },
  'owner.agents.create': { body: 'AgentInput', response: 'AgentCreated' },
  'owner.agents.setState': { body: 'AgentStateInput', response: 'AgentStateInput' },
  'owner.pairings.set': { body: 'PairingInput', response: 'PairingResult' },
  'owner.enrollments.create': { body: 'EnrollmentInput' },
  'owner.credentials.revoke': { response: 'RevokeResult' },
  'owner.messages.send': { body: 'OwnerMessageInput', response: 'Message' },
  'owner.conversations.history': { response: 'MessagePage' },
}

describe('the description', () => {
  test('is OpenAPI 3.1.0 of version 1.2.0', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info).toMatchObject({ title: 'An agent bridge API', version: '1.2.0' })
    expect(Object.keys(document.components.securitySchemes)).toEqual([
      'AgentKey',
      'TelemetryToken',
      'OwnerSession',
    ])
  })

  test('describes every endpoint once, and nothing else', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.sort()).toEqual(endpoints.map(({ method, path }) => `${method} ${path}`).sort())
    const operationIds = endpoints.map((entry) => operation(entry).operationId)
    expect(new Set(operationIds).size).toBe(endpoints.length)
  })

  test('names the schemas as the interface does', () => {
    for (const [id, names] of Object.entries(interfaceNames)) {
      const entry = endpoints.find((each) => each.id === id)
      if (entry === undefined) throw new Error(`${id} is not an endpoint`)
      const { requestBody, responses } = operation(entry)
      const described = { body: nameOf(schemaOf(requestBody)), response: nameOf(schemaOf(responses[200])) }
      expect({ id, ...described }).toMatchObject({ id, ...names })
    }
    for (const entry of endpoints) {
      const refused = Object.keys(operation(entry).responses).filter((status) => Number(status) >= 400)
      expect(refused.length).toBeGreaterThan(3)
      for (const status of refused) {
        if (entry.id === 'health.ready' && status === '503') continue
        expect(nameOf(schemaOf(answerOf(document, entry, Number(status))))).toBe('Error')
      }
    }
  })

  test('refers only to schemas that it contains, and contains only schemas that it refers to', () => {
    const referred = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)]
    const names = [...new Set(referred.map(([, name]) => name))]
    expect(Object.keys(document.components.schemas).sort()).toEqual(names.sort())
  })

  test('gives the status of every code that an endpoint may answer', () => {
    for (const entry of endpoints) {
      for (const code of [...callerErrors[entry.caller], ...entry.errors]) {
        if (entry.id === 'health.ready' && errors[code].status === 503) continue
        const described = answerOf(document, entry, errors[code].status)?.description
        expect([entry.id, described?.split(', ')]).toEqual([entry.id, expect.arrayContaining([code])])
      }
    }
  })

  test('requires the headers of interface §4.1', () => {
    for (const entry of endpoints) {
      const described = Object.fromEntries(
        (operation(entry).parameters ?? [])
          .filter((each) => each.in === 'header')
          .map(({ name, required = false, schema }) => [name, { required, ...schema }]),
      )
      const isAgents = entry.caller === 'agent' || entry.caller === 'agent-without-session'
      const expected = {
        ...(isAgents && {
          'X-Bridge-Time': { required: false },
          'X-Bridge-Nonce': { required: false },
          'X-Bridge-Proof': { required: false },
        }),
        ...((isAgents || entry.id === 'enrollments.claim') && {
          'X-Bridge-Device': { required: false, maxLength: 300 },
        }),
        ...(entry.caller === 'agent' && { 'X-Bridge-Session': { required: true, format: 'uuid' } }),
        ...(entry.idempotent && {
          'Idempotency-Key': {
            required: true,
            minLength: 8,
            maxLength: 128,
            pattern: '^[A-Za-z0-9_.:-]+$',
          },
        }),
        ...(entry.bytes === 'request' && { 'X-Content-SHA256': { required: false } }),
        ...(entry.caller.startsWith('owner') &&
          entry.method === 'POST' && { Origin: { required: true, format: 'uri' } }),
      }
      expect([entry.id, Object.keys(described).sort()]).toEqual([entry.id, Object.keys(expected).sort()])
      expect(described).toMatchObject(expected)
    }
  })

  test('gives the media type of each success, and the schemas of pushed events', () => {
    const octets = ['packages.getPart', 'packages.file', 'client.download']
    for (const entry of endpoints.filter(({ stream }) => stream === undefined)) {
      const types = Object.keys(answerOf(document, entry, 200)?.content ?? {})
      const expected = octets.includes(entry.id) ? 'application/octet-stream' : 'application/json'
      expect([entry.id, types]).toEqual([entry.id, [expected]])
    }
    const events = answerOf(document, contract.streams.events, 200)?.content
    expect(events).toEqual({ 'text/event-stream': { schema: { $ref: '#/components/schemas/StreamEvent' } } })

    const socket = operation(contract.streams.socket)
    expect(Object.keys(socket.responses).filter((status) => Number(status) < 400)).toEqual(['101'])
    const frames = schemaOf(answerOf(document, contract.streams.socket, 101))?.anyOf?.map(nameOf)
    expect(frames).toEqual(['ServerFrame', 'ClientFrame'])

    const { requestBody } = operation(contract.packages.putPart)
    expect(Object.keys(requestBody?.content ?? {})).toEqual(['application/octet-stream'])
  })

  test('gives the headers of each answer', () => {
    for (const entry of endpoints) {
      for (const status of Object.keys(operation(entry).responses)) {
        const expected = [
          'X-Request-Id',
          ...(entry.idempotent && status === '200' ? ['Idempotency-Replayed'] : []),
          ...(['429', '503'].includes(status) ? ['Retry-After'] : []),
          ...(status === '405' ? ['Allow'] : []),
          ...(entry.bytes === 'response' && status === '200' ? ['X-Content-SHA256'] : []),
          ...(entry.cookie && status === '200' ? ['Set-Cookie'] : []),
        ]
        const described = Object.keys(answerOf(document, entry, Number(status))?.headers ?? {})
        expect([entry.id, status, described]).toEqual([entry.id, status, expected])
      }
    }
    expect(Object.keys(document.components.headers).sort()).toEqual(
      [
        'Allow',
        'Idempotency-Replayed',
        'Retry-After',
        'Set-Cookie',
        'X-Content-SHA256',
        'X-Request-Id',
      ].sort(),
    )
  })

  test('is shorter than the unread bytes allowed on a connection', () => {
    expect(JSON.stringify(document).length).toBeLessThan(limits.streamBufferBytes / 2)
  })

  test('states the permitted callers', () => {
    for (const entry of endpoints) {
      const scheme = {
        agent: 'AgentKey',
        'agent-without-session': 'AgentKey',
        owner: 'OwnerSession',
        telemetry: 'TelemetryToken',
      }[entry.caller as string]
      expect([entry.id, operation(entry).security]).toEqual([entry.id, scheme ? [{ [scheme]: [] }] : []])
    }
  })
})

describe('a public linter', () => {
  const lint = async (source: object) =>
    (
      await lintFromString({
        source: JSON.stringify(source),
        absoluteRef: '/openapi.json',
        config: await createConfig({ extends: ['recommended'] }),
      })
    ).map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)

  test('finds nothing, except that an upgrade has no answer of the 200s', async () => {
    expect(await lint(document)).toEqual([
      expect.stringMatching(/^operation-2xx-response: .* #\/paths\/~1api~1v1~1socket\/get\/responses$/),
    ])
  })

  test('finds faults that were added', async () => {
    const { Error: _gone, ...schemas } = document.components.schemas
    const findings = await lint({ ...document, components: { ...document.components, schemas } })
    expect(findings).toContainEqual(expect.stringMatching(/^no-unresolved-refs: /))
  })
})

describe('a client from a public generator', () => {
  let folder: string
  const run = promisify(execFile)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'client-'))
    await generate({
      // The generator modifies its input.
      input: structuredClone(document) as unknown as Record<string, unknown>,
      output: join(folder, 'client'),
      httpClient: 'fetch',
      useOptions: true,
    })
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(strictly))
  })
  afterAll(async () => {
    // esbuild builds in a separate process.
    await stop()
    await rm(folder, { recursive: true, force: true })
  })

  const strictly = {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024', 'dom', 'dom.iterable'],
      module: 'esnext',
      moduleResolution: 'bundler',
      strict: true,
      noEmit: true,
      types: [],
    },
    include: ['.'],
  }

  /** Returns the compiler's errors for the client and a file that uses it. */
  async function compiled(use: string): Promise<string> {
    await writeFile(join(folder, 'use.ts'), use)
    const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')
    const failed = await run(process.execPath, [tsc, '-p', folder]).catch(
      (error: { stdout: string }) => error,
    )
    return failed.stdout
  }

  const use = `import { MessagesService, OwnerProjectsService, type Message, type ProjectInput } from './client'
const input: ProjectInput = { name: 'demo', policy: { idle_seconds: null } }
export const create = () => OwnerProjectsService.ownerProjectsCreate({ origin: 'http://x', requestBody: input })
export const sent = async (id: string): Promise<Message['delivery']['offers']> =>
  (await MessagesService.messagesGet({ xBridgeSession: id, id })).delivery.offers
`
  test('compiles', async () => {
    expect(await compiled(use)).toBe('')
  })

  test('does not compile if it is used against the contract', async () => {
    expect(await compiled(use.replace("name: 'demo'", 'title: 1'))).toMatch(/use\.ts.*TS2353/)
    expect(await compiled(use.replace('delivery.offers', 'delivery.shouts'))).toMatch(/use\.ts.*TS2/)
  })

  test('communicates with the server', async () => {
    const bridge = await startBridge()
    try {
      const outfile = join(folder, 'client.mjs')
      await build({ entryPoints: [join(folder, 'client/index.ts')], outfile, bundle: true, format: 'esm' })
      const client = await import(pathToFileURL(outfile).href)
      client.OpenAPI.BASE = bridge.url
      expect(await client.HealthService.healthGet()).toMatchObject({
        status: 'ok',
        server_id: bridge.server.serverId,
      })
      const { id } = await bridge.owner.createAgent(bridge.project.id, 'cy')
      const requestBody = claimBody(
        await bridge.owner.enrollmentCode(bridge.project.id, id),
        generateKeyPair(),
      )
      const claimed = await client.EnrollmentsService.enrollmentsClaim({ requestBody })
      expect(claimed).toMatchObject({ agent: { id, name: 'cy' }, binding: 'key' })
      await expect(client.PeersService.peersList({ xBridgeSession: id })).rejects.toMatchObject({
        status: 401,
        body: { error: 'unauthenticated' },
      })
    } finally {
      await bridge.close()
    }
  })
})
