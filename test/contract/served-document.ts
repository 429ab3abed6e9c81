/** The API description as a running server gives it, and what tests read of it. */
import { startBridge } from '../support/bridge.ts'

export interface SchemaNode {
  readonly $ref?: string
  readonly type?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: string
}

interface Content {
  readonly content: { readonly 'application/json': { readonly schema: SchemaNode } }
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
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>
}

export interface OpenapiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
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

export const schemaOf = (part: Content | undefined): SchemaNode | undefined =>
  part?.content['application/json'].schema

/** `#/components/schemas/Message` → `Message`. */
export const nameOf = (schema: SchemaNode | undefined): string | undefined => schema?.$ref?.split('/').at(-1)
