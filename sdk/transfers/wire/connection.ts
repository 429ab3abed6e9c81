/**
 * One request to the home of a file, its body and its answer streamed.
 *
 * Over node:http(s), with the platform's own TLS verification and no redirects. An answer that comes while a body is
 * still being sent ends the sending: the refusal counts, not the broken pipe.
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
import { HelperError, LocalError } from '../../transport/failures.ts'
import { type EndpointRequest, endpointRefusal, type FileEndpoint } from './endpoint.ts'

export interface Outgoing {
  readonly method: EndpointRequest['method']
  /** Behind the prefix of the home. */
  readonly path: string
  /** A part of a file, as the body. */
  readonly part?: { readonly file: FileHandle; readonly part: ManifestPart } | undefined
  readonly signal?: AbortSignal | undefined
  readonly onBytes?: ((count: number) => void) | undefined
  /** How long nothing may come or go. */
  readonly idleMs: number
}

const maxAnswerBytes = 256 * 1024

/** The connections of one transfer to one home. */
export class Connection {
  readonly #home: FileEndpoint
  #agent: HttpAgent | undefined
  #request: typeof httpRequest = httpRequest

  constructor(home: FileEndpoint) {
    this.#home = home
  }

  get home(): FileEndpoint {
    return this.#home
  }

  /** A 200, its body not read yet. @throws HelperError, BridgeError, LocalError */
  async send(outgoing: Outgoing): Promise<IncomingMessage> {
    const { method, path, part } = outgoing
    const target = `${this.#home.prefix}${path}`
    const asked = { method, path: target }
    const bodySha256 = part?.part.sha256 ?? emptySha256
    const headers = await this.#home.authorise({ method, target, bodySha256 })
    try {
      const message = await this.#exchange(outgoing, target, headers)
      if (message.statusCode === 200) return message
      throw await refusalOf(asked, message)
    } catch (error) {
      if (error instanceof HelperError) throw error
      const ended = outgoing.signal?.aborted === true ? 'by-caller' : endedBy(error)
      throw failureOf(error, asked, ended, this.#home.called)
    }
  }

  /** A 200 with a JSON object. */
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
    const request = this.#request(`${this.#home.origin}${target}`, { ...options, ...(signal && { signal }) })
    request.setTimeout(idleMs, () => request.destroy(new IdleError()))
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).on('error', reject)
    })
    if (part === undefined) request.end()
    else await Promise.race([sendPart(request, part, onBytes), answered])
    const message = await answered
    // A refusal came before the body was sent: what is left of it stays here.
    message
      .on('error', () => {})
      .once('end', () => {
        if (!request.writableEnded) request.destroy()
      })
    return message
  }

  async #open(): Promise<void> {
    if (this.#agent !== undefined) return
    if (!this.#home.origin.startsWith('https:')) {
      this.#agent = new HttpAgent({ keepAlive: true, maxSockets: this.#home.partsAtOnce ?? 1 })
      return
    }
    const { Agent, request } = await import('node:https')
    this.#request = request as typeof httpRequest
    this.#agent = new Agent({ keepAlive: true, maxSockets: this.#home.partsAtOnce ?? 1 })
  }
}

class IdleError extends Error {}

const endedBy = (error: unknown): 'by-time' | undefined =>
  error instanceof IdleError ? 'by-time' : undefined

/** A block is reused by the reader once the connection has taken it. */
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
    // The connection ended, with an answer or without: that tells more than a write that failed. The file's own errors count.
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
