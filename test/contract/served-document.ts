/** The API description of a running server, and functions that read it. */
import { startBridge } from '../support/bridge.ts'

export interface SchemaNode {
  readonly $ref?: string
  readonly type?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly SchemaNode[]
}

interface Content {
  /** The schemas by media type. */
  readonly content?: Readonly<Record<string, { readonly schema: SchemaNode }>>
}

/** An answer, with its headers by name; each refers to a component. */
export interface Described extends Content {
  readonly $ref?: string
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
}

export interface Parameter {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly required?: boolean
  readonly schema: SchemaNode
}

export interface Operation {
  readonly operationId: string
  readonly security: readonly Record<string, readonly string[]>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content & { readonly required: boolean }
  readonly responses: Readonly<Record<string, Described>>
}

export interface OpenapiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly responses: Readonly<Record<string, Described>>
    readonly headers: Readonly<Record<string, { readonly schema: SchemaNode }>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}

export async function servedDocument(): Promise<OpenapiDocument> {
  const bridge = await startBridge()
  try {
    const reply = await fetch(`${bridge.url}/api/openapi`)
    return (await reply.json()) as OpenapiDocument
  } finally {
    await bridge.close()
  }
}

/** Returns an operation's answer for a status; `place` is its path in the document. */
export function answerOf(
  document: OpenapiDocument,
  { path, method }: { readonly path: string; readonly method: string },
  status: number,
): (Described & { readonly place: readonly string[] }) | undefined {
  const found = document.paths[path]?.[method.toLowerCase()]?.responses[status]
  const name = found?.$ref?.replace('#/components/responses/', '')
  const described = name === undefined ? found : document.components.responses[name]
  const place =
    name === undefined
      ? ['paths', path, method.toLowerCase(), 'responses', String(status)]
      : ['components', 'responses', name]
  return described && { ...described, place }
}

export const schemaOf = (part: Content | undefined): SchemaNode | undefined =>
  part?.content?.['application/json']?.schema

/** `#/components/schemas/Message` → `Message`. */
export const nameOf = (schema: SchemaNode | undefined): string | undefined => schema?.$ref?.split('/').at(-1)
