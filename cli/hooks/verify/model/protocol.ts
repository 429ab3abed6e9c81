/** A protocol of models, and what all of them share. */
import type { ServerResponse } from 'node:http'
import type { Answer, Body, Shells } from './steps.ts'

export interface ModelProtocol {
  /** Names of the offered tools; those in a namespace as `namespace/name`. */
  readonly tools: (body: Body) => readonly string[]
  /** Whether a request with these tools is one of the conversation. */
  readonly isConversation: (tools: readonly string[]) => boolean
  readonly messages: (body: Body) => readonly unknown[]
  readonly shells: Shells
  readonly answer: (response: ServerResponse, body: Body, answer: Answer) => void
}

/** A tool of a request, or a namespace of tools. */
export interface Offered {
  readonly name?: string
  readonly type?: string
  readonly tools?: readonly Offered[]
}

export const listOf = <T>(value: unknown): readonly T[] => (Array.isArray(value) ? value : [])

export function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
