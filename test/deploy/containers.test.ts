/**
 * The Compose files of examples/deploy, started in containers with the commands of their headings.
 *
 * Only BRIDGE_CONTAINERS=1 runs them. They need Podman with podman-compose, or Docker with its plugin, and
 * the registry of npm. `containers/images.ts` says what happens without a registry of images.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { trustAlso } from '../support/authorities.ts'
import { certificateChain } from '../support/certificates.ts'
import { act, fileOf, offer, upload } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import { exchange } from '../support/http.ts'
import { type People, settlePeople } from '../support/people.ts'
import { Deployment, imagesOf } from './containers/deployment.ts'
import { type Engine, installed } from './containers/engine.ts'
import { type Images, provideImages } from './containers/images.ts'
import { proxies, type ReverseProxy } from './proxies.ts'

const isWanted = process.env.BRIDGE_CONTAINERS !== undefined
const proxyKind = proxies.find(({ isInstalled }) => isInstalled)
const reason = !isWanted
  ? 'set BRIDGE_CONTAINERS=1'
  : installed === undefined
    ? 'Podman with podman-compose is missing, and so is Docker'
    : undefined

/** Images take minutes to come. */
const slow = 15 * 60_000
/** Containers of a busy machine take a minute to start. */
const patience = { timeout: 240_000 }
const nodes = ['node-a', 'node-b', 'node-c'] as const

const healthy = (deployment: Deployment, service: string) =>
  expect.poll(() => deployment.isHealthy(service), patience).toBe(true)

const isReady = async (url: string) => {
  try {
    return (await exchange(url, { method: 'GET', target: '/api/ready' })).status === 200
  } catch {
    return false
  }
}

/** Tries a call again until it succeeds, as a client does while a node goes away. */
async function patiently<T>(call: () => Promise<T>, withinMs = 30_000): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;)
    try {
      return await call()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(20)
    }
}

/** A message that arrives and is acknowledged. Resolves with the milliseconds until it was stored. */
async function talk({ ada, ben }: People, conversation: string, text: string): Promise<number> {
  const began = performance.now()
  const key = randomUUID()
  const { id } = await patiently(() => ada.send(conversation, ben.id, text, key))
  const took = performance.now() - began
  // A file that arrived is in the inbox too.
  const waiting = async () => {
    const { messages } = await patiently(() => ben.inbox())
    return messages.filter(({ body }) => body === text).map((message) => message.id)
  }
  expect(await waiting()).toEqual([id])
  await patiently(() => ben.acknowledge(id))
  expect(await waiting()).toEqual([])
  return took
}

/** A file of two parts that goes through the node. */
async function moveFile({ ada, ben }: People): Promise<void> {
  const bytes = fileOf(200_000)
  const transfer = await offer({ from: ada, to: ben, bytes, partSize: 150_000 })
  await upload(ada, transfer, bytes)
  expect((await act(ben, transfer.id, 'accept')).status).toBe(200)
  const parts: Buffer[] = []
  for (const { index } of transfer.parts) {
    const target = `/api/v1/transfers/${transfer.id}/package/parts/${index}`
    parts.push((await ben.call({ target })).bytes)
  }
  expect(Buffer.concat(parts).equals(bytes)).toBe(true)
}

if (reason !== undefined) test.skip(`containers: ${reason}`, () => {})
else
  describe('in containers', () => {
    const engine = installed as Engine
    let images: Images

    beforeAll(async () => {
      const names = [...imagesOf('compose-nodes.yaml'), ...imagesOf('compose.yaml')]
      images = await provideImages(engine, [...new Set(names)])
      process.stdout.write(`${engine.compose} with\n  ${images.origins.join('\n  ')}\n`)
    }, slow)
    afterAll(() => images?.remove(), slow)

    describe('compose-nodes.yaml', () => {
      let deployment: Deployment
      let authority: string
      let people: People
      let conversation: string
      let url: string

      beforeAll(async () => {
        const chain = await certificateChain()
        authority = chain.root.cert
        const origin = (port: number) => (port === 443 ? 'https://localhost' : `https://localhost:${port}`)
        const certificate = await chain.server()
        deployment = await Deployment.start(engine, {
          file: 'compose-nodes.yaml',
          published: 443,
          origin,
          certificate,
        })
        url = origin(deployment.port)
      }, slow)
      trustAlso(() => authority)
      afterAll(() => deployment?.remove(), slow)

      test('starts three nodes, of which one made the installation', async () => {
        const [setupLink = '', ...more] = await deployment.setupLinks()
        expect([setupLink, more]).toEqual([expect.stringMatching(`^${url}/setup#`), []])
        await expect.poll(() => isReady(url), patience).toBe(true)
        for (const service of ['postgres', ...nodes]) await healthy(deployment, service)
        people = await settlePeople({ url, setupLink })
      })

      test('carries a message and a file', async () => {
        conversation = await people.ada.conversationWith(people.ben.id)
        await talk(people, conversation, 'through HAProxy')
        await moveFile(people)
      })

      test('stores a message within 2 s of the kill of a node, and finds the node again', async () => {
        // In the end each has started again, mostly with another address.
        for (const service of nodes) {
          const before = await deployment.addressOf(service)
          await deployment.kill(service)
          const took = await talk(people, conversation, `without ${service}`)
          expect(took).toBeLessThan(2000)
          await deployment.startAgain(service)
          await healthy(deployment, service)
          const after = await deployment.addressOf(service)
          process.stdout.write(
            `${service}: ${took.toFixed(0)} ms without it; it had ${before}, has ${after}\n`,
          )
        }
        await moveFile(people)
      })

      test('leaves nothing behind', async () => {
        await deployment.down()
        expect(await deployment.left()).toEqual([])
      })
    })

    describe(`compose.yaml behind ${proxyKind?.name ?? 'a proxy, which is missing'}`, () => {
      if (proxyKind === undefined) return test.skip('needs nginx, Caddy or HAProxy', () => {})
      let deployment: Deployment
      let proxy: ReverseProxy

      beforeAll(async () => {
        const port = await freePort()
        const origin = () => `https://localhost:${port}`
        deployment = await Deployment.start(engine, { file: 'compose.yaml', published: 8484, origin })
        proxy = await proxyKind.start(deployment.port, port)
      }, slow)
      trustAlso(() => proxy.authority)
      afterAll(async () => {
        await proxy?.close()
        await deployment?.remove()
      }, slow)

      test('starts a node that serves its proxy', async () => {
        const [setupLink = ''] = await deployment.setupLinks()
        await expect.poll(() => isReady(proxy.url), patience).toBe(true)
        for (const service of ['postgres', 'bridge']) await healthy(deployment, service)
        const people = await settlePeople({ url: proxy.url, setupLink })
        const conversation = await people.ada.conversationWith(people.ben.id)
        await talk(people, conversation, 'through a proxy of the machine')
        await moveFile(people)
      })

      test('leaves nothing behind', async () => {
        await deployment.down()
        expect(await deployment.left()).toEqual([])
      })
    })
  })
