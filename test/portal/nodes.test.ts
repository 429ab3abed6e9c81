/** Several nodes on one PostgreSQL, as the owner sees them at any of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { version } from '../../sdk/version.ts'
import { enroll, type TestAgent } from '../support/agent.ts'
import { closeNodes, startNodes } from '../support/cluster-nodes.ts'
import { agentAt } from '../support/nodes.ts'
import { setUpOwner } from '../support/owner.ts'
import { Cluster, hasPostgres } from '../support/postgres-cluster.ts'
import type { ServerProcess } from '../support/process.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

/** Ten seconds of silence, a beat, and a question of the page. */
const noticed = { timeout: 120_000 }

inChromium('an owner of several nodes', () => {
  describe.skipIf(!hasPostgres)('three of them', () => {
    let cluster: Cluster
    let nodes: readonly ServerProcess[] = []
    let ada: TestAgent
    let chromium: Chromium
    let visitor: Visitor

    beforeAll(async () => {
      ;[cluster, chromium] = await Promise.all([Cluster.start(), startChromium()])
      nodes = await startNodes(cluster, 3)
      const [first, second] = nodes as [ServerProcess, ServerProcess]
      const owner = await setUpOwner(first.url, first.setupLink)
      const project = await owner.createProject('demo')
      const { id } = await owner.createAgent(project.id, 'ada')
      ada = await enroll(first.url, await owner.enrollmentCode(project.id, id), () => new Date())
      await ada.startSession()
      visitor = await chromium.visitor(second.url)
      await signIn(visitor.page, second.url, '/node')
    })
    afterAll(async () => {
      await chromium?.close()
      await closeNodes(nodes)
      await cluster?.close()
    })

    const list = () => visitor.page.getByRole('region', { name: 'Nodes' }).getByRole('listitem')
    const card = (name: string) =>
      list().filter({ has: visitor.page.getByRole('heading', { name, exact: true }) })

    test('sees each with its version, its load and its lag, and which one runs maintenance', async () => {
      await card('c').waitFor()
      expect(await list().count()).toBe(3)
      for (const name of ['a', 'b', 'c']) {
        const text = await card(name).innerText()
        expect(text).toMatch(/\d+ % load, 0 open waits, \d+ ms lag/)
        expect(text).toContain(`Version ${version}${name === 'a' ? ', runs maintenance' : ''}. Seen `)
      }
      await visitor.picture('nodes')
    })

    test('sees at which one an agent waits', async () => {
      const waiting = agentAt(nodes[2] as ServerProcess, ada).call({
        target: '/api/v1/inbox?wait_seconds=20',
      })
      await card('c').getByText('1 open wait,').waitFor()
      expect(await card('a').innerText()).toContain('0 open waits,')
      expect((await waiting).status).toBe(200)
    })

    test('sees which one was lost and which one stopped, and who runs maintenance now', async () => {
      await nodes[2]?.kill('SIGTERM')
      await card('c').getByText('Stopped at').waitFor()
      await nodes[0]?.kill()
      await card('a').getByText('Lost: no heartbeat since').waitFor(noticed)
      await card('b').getByText(', runs maintenance').waitFor(noticed)
      await nodes[0]?.start()
      await card('a').getByText('load').waitFor()
      expect(await card('a').innerText()).not.toContain('Lost')
      expect(visitor.faults).toEqual([])
    })
  })
})
