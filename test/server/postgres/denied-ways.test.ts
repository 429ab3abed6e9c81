/**
 * The owner denies an agent its access at one node. At the other one its event stream and its socket end. That node
 * also refuses the work that the agent had begun there: a part of a package, a download, a claim, progress, an
 * acknowledgement, a new stream. `denied.test.ts` does the same with messages under traffic. Runs with
 * `BRIDGE_TEST_STORE=postgres`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import * as files from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'
import { agentAt, startTwoNodes, type TwoNodes, untilPeers } from '../../support/nodes.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { openEvents, openSocket } from '../../support/streams.ts'
import * as tasks from '../../support/tasks.ts'
import { type AgentScene, agentScene } from './denials/scenes.ts'
import { denials } from './denials/table.ts'

const partSize = 1000
const bytes = files.fileOf(3 * partSize)
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)

type Work = readonly (readonly [name: string, act: () => Promise<Reply>])[]

describe.skipIf(!isOnPostgres)('an agent that the owner denies its access at another node', () => {
  let store: ObjectStore
  let nodes: TwoNodes
  beforeAll(async () => {
    store = await startObjectStore()
    nodes = await startTwoNodes({
      settings: { ...store.settings(), package_bytes: '1000000' },
      environment: testKeys,
    })
    await Promise.all([untilPeers(nodes.first, 'notified'), untilPeers(nodes.second, 'notified')])
  })
  afterAll(async () => {
    await nodes?.close()
    await store?.close()
  })

  /** Begins Ben's work at the second node. He may do each act of it, because he has done the like before. */
  async function begun({ ada, ben }: AgentScene, there: TestAgent): Promise<Work> {
    const { id: outgoing } = await files.offer({ from: ben, to: ada, bytes, partSize })
    expect((await files.putPart(there, outgoing, 0, part(0))).status).toBe(200)
    const incoming = await files.offer({ from: ada, to: ben, bytes, partSize })
    await files.upload(ada, incoming, bytes)
    expect((await files.act(there, incoming.id, 'accept')).status).toBe(200)
    const download = () => there.call({ target: `/api/v1/transfers/${incoming.id}/package/file` })
    expect((await download()).status).toBe(200)
    const [claimed, open] = [await tasks.createTask(ada, ben), await tasks.createTask(ada, ben)]
    const held = tasks.heldBy(await tasks.act(there, claimed.id, 'claim'))
    const progress = () => tasks.ask(there, claimed.id, 'progress', { ...held, note: 'counted half' })
    expect((await progress()).status).toBe(200)
    const conversation = await ada.conversationWith(ben.id)
    const sent = [
      await ada.send(conversation, ben.id, 'first'),
      await ada.send(conversation, ben.id, 'second'),
    ]
    const acknowledge = (index: number) =>
      there.call({
        target: '/api/v1/acknowledgements',
        body: { message_ids: [sent[index]?.id] },
        key: null,
      })
    expect((await acknowledge(0)).status).toBe(200)
    return [
      ['a part of a package', () => files.putPart(there, outgoing, 1, part(1))],
      ['a download', download],
      ['a claim', () => tasks.ask(there, open.id, 'claim')],
      ['progress', progress],
      ['an acknowledgement', () => acknowledge(1)],
    ]
  }

  const ofAgents = denials.filter(({ ends, scene }) => ends && scene === agentScene)

  test.each(ofAgents.map((each) => [each.name, each] as const))(
    'ends its streams there and refuses its work: %s',
    async (_name, denial) => {
      const scene = (await denial.scene(nodes)) as AgentScene
      const there = agentAt(nodes.second, scene.ben)
      const work = await begun(scene, there)
      const streams = [openEvents(there), openSocket(there)]
      for (const { opened } of streams) await opened
      await denial.deny(nodes, scene)
      const refusals = await Promise.all(
        work.map(async ([name, act]) => [name, files.told(await act())[1]] as const),
      )
      expect(refusals).toEqual(work.map(([name]) => [name, denial.code]))
      for (const stream of [...streams, openEvents(there), openSocket(there)])
        expect(await stream.reason()).toBe(denial.code)
    },
  )
})
