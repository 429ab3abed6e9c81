/**
 * A scripted model on loopback. A real harness that uses it needs no network, no account and no tokens.
 *
 * A request that offers tools is one of the conversation and gets the next step of the script. Every other
 * request, such as one for a title, gets "ok". After the last step each request gets "(end of the script)".
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ModelProtocol } from './protocol.ts'
import { protocolOf } from './protocols.ts'
import { answerOf, type Body, type Step } from './steps.ts'

/** A request of the conversation, in the order of arrival. */
export interface ModelRequest {
  readonly atMs: number
  readonly tools: readonly string[]
  /** The messages as JSON. */
  readonly text: string
  /** The last message as JSON. */
  readonly last: string
}

/** Chooses the answer to the request with this number, counted from 0. */
export type Script = (request: ModelRequest, number: number) => Step | undefined | Promise<Step | undefined>

export class ScriptedModel {
  readonly requests: ModelRequest[] = []
  readonly #server: Server
  readonly #script: Script
  readonly #nowMs: () => number
  #waiting: (() => void)[] = []

  private constructor(script: Script, nowMs: () => number) {
    this.#script = script
    this.#nowMs = nowMs
    this.#server = createServer((request, response) => {
      void this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(script: Script, nowMs: () => number): Promise<ScriptedModel> {
    const model = new ScriptedModel(script, nowMs)
    await new Promise<void>((resolve, reject) => {
      model.#server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
    return model
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves with the requests when at least `count` have arrived. */
  async arrived(count: number, signal: AbortSignal): Promise<readonly ModelRequest[]> {
    while (this.requests.length < count) {
      signal.throwIfAborted()
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    return this.requests
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? ''
    const body = await bodyOf(request)
    const protocol = request.method === 'POST' ? protocolOf(url) : undefined
    if (protocol === undefined) return answerOther(url, response)
    const tools = protocol.tools(body)
    const step = protocol.isConversation(tools) ? await this.#step(protocol, body, tools) : { text: 'ok' }
    protocol.answer(response, body, answerOf(step, tools, protocol.shells))
  }

  async #step(protocol: ModelProtocol, body: Body, tools: readonly string[]): Promise<Step> {
    const messages = protocol.messages(body)
    const request: ModelRequest = {
      atMs: this.#nowMs(),
      tools,
      text: JSON.stringify(messages),
      last: JSON.stringify(messages.at(-1) ?? null),
    }
    this.requests.push(request)
    for (const resolve of this.#waiting.splice(0)) resolve()
    const step = await this.#script(request, this.requests.length - 1)
    return step ?? { text: '(end of the script)' }
  }
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Lists of models are empty, and a count of tokens is 10. */
function answerOther(url: string, response: ServerResponse): void {
  const isKnown = /models|count_?tokens/i.test(url)
  response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
  const lists = { object: 'list', data: [], models: [] }
  response.end(JSON.stringify(isKnown ? { ...lists, input_tokens: 10, totalTokens: 10 } : {}))
}
