/**
 * HTTP connections from one transfer to one endpoint. Bodies and answers are streamed.
 *
 * Requests use node:http or node:https with the platform's TLS verification, and follow no redirect. If an
 * answer arrives while a body is still being sent, sending stops, and the caller gets the refusal instead of
 * a broken pipe.
 */

import type { FileHandle } from 'node:fs/promises'
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { emptySha256, type ManifestPart } from '../../contract/helper/manifest.ts'
import { eachBlock } from '../../parts/blocks.ts'
import { failureOf, parseObject } from '../../transport/answers.ts'
import { trusting } from '../../transport/authorities.ts'
import { HelperError, LocalError } from '../../transport/failures.ts'
import { type EndpointRequest, endpointRefusal, type FileEndpoint } from './endpoint.ts'

export interface Outgoing {
  readonly method: EndpointRequest['method']
  /** Path below the prefix of the endpoint. */
  readonly path: string
  /** Part of a file that is sent as the body. */
  readonly part?: { readonly file: FileHandle; readonly part: ManifestPart } | undefined
  readonly signal?: AbortSignal | undefined
  readonly onBytes?: ((count: number) => void) | undefined
  /** Time limit for a connection on which no byte moves. */
  readonly idleMs: number
}

const maxAnswerBytes = 256 * 1024

/** Connections of one transfer to one endpoint, kept open between requests. */
export class Connection {
  readonly #endpoint: FileEndpoint
  #agent: HttpAgent | undefined
  #request: typeof httpRequest = httpRequest

  constructor(endpoint: FileEndpoint) {
    this.#endpoint = endpoint
  }

  get endpoint(): FileEndpoint {
    return this.#endpoint
  }

  /**
   * Sends a request and returns its 200 answer with the body unread.
   *
   * @throws HelperError or BridgeError if the endpoint refuses; LocalError if no usable answer arrives
   */
  async send(outgoing: Outgoing): Promise<IncomingMessage> {
    const { method, path, part } = outgoing
    const target = `${this.#endpoint.prefix}${path}`
    const asked = { method, path: target }
    const bodySha256 = part?.part.sha256 ?? emptySha256
    const headers = await this.#endpoint.authorise({ method, target, bodySha256 })
    try {
      const message = await this.#exchange(outgoing, target, headers)
      if (message.statusCode === 200) return message
      throw await refusalOf(asked, message)
    } catch (error) {
      if (error instanceof HelperError) throw error
      const ended = outgoing.signal?.aborted === true ? 'by-caller' : endedBy(error)
      throw failureOf(error, asked, ended, this.#endpoint.called)
    }
  }

  /**
   * Sends a request and returns the JSON object of its 200 answer.
   *
   * @throws as `send`, LocalError `bad_response`
   */
  async ask<T>(outgoing: Outgoing, required: readonly (keyof T & string)[]): Promise<T> {
    const message = await this.send(outgoing)
    const value = parseObject(await textOf(message))
    if (value !== undefined && required.every((name) => Object.hasOwn(value, name))) return value as T
    throw new LocalError(
      'bad_response',
      `${outgoing.method} ${outgoing.path}: the answer is not of the protocol`,
    )
  }

  close(): void {
    this.#agent?.destroy()
    this.#agent = undefined
  }

  async #exchange(
    { method, part, signal, onBytes, idleMs }: Outgoing,
    target: string,
    headers: Record<string, string>,
  ): Promise<IncomingMessage> {
    await this.#open()
    const length = method === 'GET' ? {} : { 'content-length': String(part?.part.size ?? 0) }
    const options = { method, headers: { ...headers, ...length }, agent: this.#agent }
    const request = this.#request(`${this.#endpoint.origin}${target}`, {
      ...options,
      ...(signal && { signal }),
    })
    request.setTimeout(idleMs, () => request.destroy(new IdleError()))
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).on('error', reject)
    })
    if (part === undefined) request.end()
    else await Promise.race([sendPart(request, part, onBytes), answered])
    const message = await answered
    // If a refusal arrives before the whole body was sent, the rest of the body is not sent.
    message
      .on('error', () => {})
      .once('end', () => {
        if (!request.writableEnded) request.destroy()
      })
    return message
  }

  async #open(): Promise<void> {
    if (this.#agent !== undefined) return
    if (!this.#endpoint.origin.startsWith('https:')) {
      this.#agent = new HttpAgent({ keepAlive: true, maxSockets: this.#endpoint.partsAtOnce ?? 1 })
      return
    }
    const { Agent, request } = await import('node:https')
    this.#request = request as typeof httpRequest
    const trust = await trusting(this.#endpoint.ca)
    this.#agent = new Agent({ keepAlive: true, maxSockets: this.#endpoint.partsAtOnce ?? 1, ...trust })
  }
}

class IdleError extends Error {}

const endedBy = (error: unknown): 'by-time' | undefined =>
  error instanceof IdleError ? 'by-time' : undefined

/**
 * Sends a part block by block. Each write is awaited, because the reader then reuses the memory of the block.
 */
async function sendPart(
  request: ClientRequest,
  { file, part }: { readonly file: FileHandle; readonly part: ManifestPart },
  onBytes: Outgoing['onBytes'],
): Promise<void> {
  try {
    await eachBlock(file, part, async (block) => {
      await new Promise<void>((resolve, reject) => {
        request.write(block, (error) => (error ? reject(error) : resolve()))
      })
      onBytes?.(block.length)
    })
    request.end()
  } catch (error) {
    // An error of the file is thrown. If the connection ended, its answer or its error says more than a
    // failed write.
    if (!request.destroyed && request.writable) throw error
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

async function refusalOf(asked: { method: string; path: string }, message: IncomingMessage): Promise<Error> {
  const status = message.statusCode ?? 0
  if (status >= 300 && status < 400) {
    message.destroy()
    return new LocalError(
      'redirected',
      `${asked.method} ${asked.path}: answered with a redirect, which is not followed`,
    )
  }
  const refusal = endpointRefusal(asked, status, parseObject(await textOf(message)))
  if (refusal !== undefined) return refusal
  const isGateway = status === 502 || status === 503 || status === 504
  return isGateway
    ? new LocalError('unreachable', `${asked.method} ${asked.path}: a proxy answered ${status}`)
    : new LocalError(
        'bad_response',
        `${asked.method} ${asked.path}: what answered (status ${status}) is no helper`,
      )
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxAnswerBytes) throw new LocalError('bad_response', 'the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
