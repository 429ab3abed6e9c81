/** An open long-poll: its answer, and ways for the client to disconnect before it. */
import { request } from 'node:http'
import { expect } from 'vitest'
import type { TestAgent } from './agent.ts'
import type { TestOwner } from './owner.ts'

export interface OpenWait {
  /** The parsed answer, or undefined if the client disconnected. */
  readonly answer: Promise<{ status: number; body: WaitBody } | undefined>
  /** Closes the connection; resolves once it is closed on this side. */
  leave(): Promise<void>
  /** Resets the connection, as the system does for a client that can receive no answer. */
  reset(): Promise<void>
}

export interface WaitBody {
  readonly error?: string
  readonly messages?: readonly { readonly id: string; readonly body: string }[]
  readonly waiting?: number
}

/** Sends the long-poll request. For a wait of the inbox, {@link untilListening} resolves when it is open. */
export function openWait(agent: TestAgent, query = 'wait_seconds=20', path = '/api/v1/inbox'): OpenWait {
  const target = `${path}?${query}`
  const { hostname, port } = new URL(agent.baseUrl)
  const headers = Object.fromEntries(agent.sign({ target }, ''))
  const call = request({ host: hostname, port, path: target, headers, agent: false })
  const closed = new Promise<void>((resolve) => call.once('close', resolve))
  const answer = new Promise<Awaited<OpenWait['answer']>>((resolve) => {
    call.once('error', () => resolve(undefined))
    call.once('response', async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as WaitBody
      resolve({ status: response.statusCode ?? 0, body })
    })
  })
  call.end()
  return {
    answer,
    async leave() {
      call.destroy()
      await closed
    },
    async reset() {
      call.socket?.resetAndDestroy()
      await closed
    },
  }
}

/** Opens two waits, after which a third is refused. The node may begin three in another order than they came. */
export async function openTwoWaits(agent: TestAgent): Promise<OpenWait[]> {
  const three = [1, 2, 3].map(() => openWait(agent))
  const refused = await Promise.race(three.map(async (each) => ({ each, answer: await each.answer })))
  expect(refused.answer?.status).toBe(429)
  return three.filter((each) => each !== refused.each)
}

/**
 * Polls the owner's view until it shows an open wait of the agent, or none. The view shows a wait for 5 s after
 * its end.
 */
export async function untilListening(
  { owner, project }: Where,
  agent: TestAgent,
  expected = true,
): Promise<void> {
  const target = `/api/admin/projects/${project.id}/agents/${agent.id}`
  const isListening = async () => {
    const { connection } = await owner.ok<{ connection: { listening_now: boolean } }>({ target })
    return connection.listening_now
  }
  await expect.poll(isListening).toBe(expected)
}

interface Where {
  readonly owner: TestOwner
  readonly project: { readonly id: string }
}

/** Options for `vi.waitFor`, which gives up after one second by default: the time limit of `expect.poll`. */
export const soon = { timeout: 60_000 } as const
