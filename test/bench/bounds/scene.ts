/**
 * A node with people, whose lists are filled with long texts. It has two similar places, one to read from and
 * one to write to, and an agent in a separate project whom an attack on others must not slow down.
 */

import type { ClientPackage } from '../../../sdk/contract/client.ts'
import { readConfig } from '../../../server/config.ts'
import { issueTelemetryToken } from '../../../server/host/init.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { act, fileOf, offer, upload } from '../../support/files.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import type { ServerProcess } from '../../support/process.ts'
import { startOperated } from '../operated.ts'

/**
 * A project, one of its agents, and the ids for paths and bodies, by the noun before them: `tasks` of
 * `/tasks/{id}`.
 */
export interface Place {
  readonly agent: TestAgent
  readonly ids: Readonly<Record<string, string>>
}

export interface Scene {
  readonly server: ServerProcess
  readonly owner: TestOwner
  readonly telemetryToken: string
  readonly observer: TestAgent
  readonly read: Place
  readonly written: Place
  /** The path of the largest file of the owner's page. */
  readonly assets: readonly string[]
}

export async function openScene(): Promise<Scene> {
  const server = await startOperated()
  try {
    const owner = await setUpOwner(server.url, server.setupLink)
    const telemetryToken = await issueTelemetryToken(readConfig({ data: server.data }, {}))
    const apart = await owner.createProject('observed')
    const observer = await member(server, owner, apart.id, 'observer')
    const read = await place(server, owner, 'read')
    await fill(owner, read)
    const written = await place(server, owner, 'written')
    return { server, owner, telemetryToken, observer, read, written, assets: await largestAsset(server) }
  } catch (error) {
    await server.close()
    throw error
  }
}

async function largestAsset({ url }: ServerProcess): Promise<string[]> {
  const page = await (await fetch(url)).text()
  const paths = new Set([...page.matchAll(/\/assets\/[\w.-]+/g)].map(([path]) => path))
  const files = await Promise.all(
    [...paths].map(async (path) => ({ path, size: (await (await fetch(`${url}${path}`)).bytes()).length })),
  )
  const largest = files.toSorted((one, other) => other.size - one.size)[0]
  if (largest === undefined) throw new Error('the page of the owner has no file')
  return [largest.path]
}

async function member(
  { url }: ServerProcess,
  owner: TestOwner,
  projectId: string,
  name: string,
): Promise<TestAgent> {
  const { id } = await owner.createAgent(projectId, name)
  const agent = await enroll(url, await owner.enrollmentCode(projectId, id), () => new Date())
  await agent.startSession()
  return agent
}

async function clientFile({ url }: ServerProcess): Promise<string> {
  return ((await (await fetch(`${url}/client`)).json()) as ClientPackage).file
}

const fileBytes = 4 * 1024 * 1024

async function place(server: ServerProcess, owner: TestOwner, name: string): Promise<Place> {
  const project = await owner.createProject(name)
  const agent = await member(server, owner, project.id, 'attacker')
  const peer = await member(server, owner, project.id, 'peer')
  const conversation = await agent.conversationWith(peer.id)
  const message = await agent.send(conversation, peer.id, 'hello')
  const bytes = fileOf(fileBytes)
  const stored = await offer({ from: agent, to: peer, bytes })
  await act(peer, stored.id, 'accept')
  await upload(agent, stored, bytes)
  const pending = await offer({ from: agent, to: peer, bytes })
  await act(peer, pending.id, 'accept')
  const task = await createTask(peer, agent, 'count')
  const ids = {
    ...{ projects: project.id, agents: peer.id, conversations: conversation, messages: message.id },
    ...{ tasks: task.id, transfers: stored.id, pending: pending.id, client: await clientFile(server) },
  }
  return { agent, ids }
}

const createTask = (
  by: TestAgent,
  to: { readonly id: string },
  instructions: string,
): Promise<{ readonly id: string }> =>
  by.ok({
    target: '/api/v1/tasks',
    body: { assignee_agent_id: to.id, title: 'Count', instructions },
  })

/** Creates more tasks, agents and messages than fit into one page. */
async function fill(owner: TestOwner, { agent, ids }: Place): Promise<void> {
  const { projects = '', agents = '', conversations = '' } = ids
  for (let n = 0; n < 20; n += 1) {
    await createTask(agent, { id: agents }, 'i'.repeat(60_000))
    await agent.send(conversations, agents, 'm'.repeat(60_000))
    await owner.createAgent(projects, `agent ${n}`, { prompt_template: 'p'.repeat(32_000) })
    await owner.message(projects, agent.id, 'o'.repeat(60_000))
  }
}
