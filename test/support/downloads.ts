/**
 * Downloads of packages whose client reads nothing, and the files that the node, in this process, holds open
 * for them.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { expect, vi } from 'vitest'
import type { TestAgent } from './agent.ts'
import { soon } from './waits.ts'

export interface StalledDownload {
  /** Resumes reading and returns the number of bytes received until the end. */
  rest(): Promise<number>
  destroy(): void
}

/** Starts a download whose client reads nothing until it calls `rest`. */
export async function stalledDownload(by: TestAgent, id: string, what = 'file'): Promise<StalledDownload> {
  const target = `/api/v1/transfers/${id}/package/${what}`
  const headers = Object.fromEntries(by.sign({ target }, ''))
  const call = request(`${by.baseUrl}${target}`, { headers, agent: false }).end()
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    call.once('response', resolve).once('error', reject)
  })
  expect(message.statusCode).toBe(200)
  await vi.waitFor(() => expect(openFiles(id)).toBeGreaterThan(0), soon)
  const closed = new Promise<void>((resolve) => message.once('close', resolve).on('error', () => {}))
  return {
    async rest() {
      let count = 0
      message.on('data', (chunk: Buffer) => {
        count += chunk.length
      })
      await closed
      return count
    },
    destroy: () => void call.destroy(),
  }
}

/** Counts the open file descriptors of this process for the file of a package. */
export const openFiles = (id: string): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes(`${id}/package`)
    } catch {
      return false
    }
  }).length
