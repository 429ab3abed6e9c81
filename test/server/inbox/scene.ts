/** A server for the tests of the inbox, with a project and two agents for each test alone. */
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { ownerPassword } from '../../support/owner.ts'

/** `bridge` is the server of the file, with the agents of the running test. */
export interface InboxScene {
  bridge: TestBridge
  conversation: string
  /** Sends messages from ada to ben one after the other. */
  write(...texts: string[]): Promise<string[]>
}

/** Starts the server of the file, and makes the agents before each of its tests. */
export function useInbox(): InboxScene {
  let shared: TestBridge
  let tests = 0
  const scene = {
    async write(...texts: string[]) {
      const { bridge, conversation } = scene
      const ids: string[] = []
      for (const text of texts) ids.push((await bridge.ada.send(conversation, bridge.ben.id, text)).id)
      return ids
    },
  } as InboxScene
  beforeAll(async () => {
    shared = await startBridge()
  })
  afterAll(() => shared.close())
  beforeEach(async () => {
    const { owner } = shared
    // Tests advance the clock, and enrolling requires a recent confirmation.
    if (tests % 4 === 0)
      await owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
    const project = await owner.createProject(`test ${tests++}`)
    const [ada, ben] = [await shared.agent('ada', project.id), await shared.agent('ben', project.id)]
    scene.bridge = { ...shared, project, ada, ben }
    await ada.startSession()
    scene.conversation = await ada.conversationWith(ben.id)
  })
  return scene
}

interface Offered {
  readonly id: string
  readonly body: string
  readonly sequence: number
  readonly delivery: { readonly attempt: number; readonly offers: number; readonly first_offered_at: string }
}

export interface Page {
  readonly messages: Offered[]
  readonly has_more: boolean
  readonly waiting: number
}

export const read = (agent: TestAgent, query = ''): Promise<Page> =>
  agent.ok<Page>({ target: `/api/v1/inbox${query}` })

export const bodiesOf = ({ messages }: { messages: readonly { body: string }[] }) =>
  messages.map(({ body }) => body)

export const numbered = (count: number, word = 'note') =>
  Array.from({ length: count }, (_, index) => `${word} ${index}`)

export const acknowledge = (agent: TestAgent, ids: readonly string[]) =>
  agent.call({ target: '/api/v1/acknowledgements', body: { message_ids: ids }, key: null })

export async function newSession(agent: TestAgent): Promise<void> {
  await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  await agent.startSession()
}

export const thirdWait = (agent: TestAgent) => agent.call({ target: '/api/v1/inbox?wait_seconds=1' })
