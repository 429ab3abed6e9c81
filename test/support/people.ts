/** An owner, a project and two paired agents on a new server, for tests that start the server themselves. */
import { enroll, type TestAgent } from './agent.ts'
import { setUpOwner, type TestOwner } from './owner.ts'

export interface People {
  readonly owner: TestOwner
  readonly project: { readonly id: string }
  readonly ada: TestAgent
  readonly ben: TestAgent
}

export async function settlePeople(
  server: { url: string; setupLink: string },
  policy: { readonly message_budget?: number } = {},
): Promise<People> {
  const owner = await setUpOwner(server.url, server.setupLink)
  return { owner, ...(await pairIn(server, owner, 'demo', policy)) }
}

/** Creates a project with two paired agents. */
export async function pairIn(
  server: { readonly url: string },
  owner: TestOwner,
  name: string,
  policy: { readonly message_budget?: number } = {},
): Promise<Omit<People, 'owner'>> {
  const project = await owner.createProject(name, { policy })
  const agent = async (its: string) => {
    const { id } = await owner.createAgent(project.id, its)
    const enrolled = await enroll(server.url, await owner.enrollmentCode(project.id, id), () => new Date())
    await enrolled.startSession()
    return enrolled
  }
  return { project, ada: await agent('ada'), ben: await agent('ben') }
}
