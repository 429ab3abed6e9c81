/** The smallest body that a schema of the contract accepts. */
import { namedSchemas } from '../../../sdk/contract/primitives.ts'

export const unknownId = '01890000-0000-7000-8000-000000000000'

interface Schema {
  readonly $ref?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly minLength?: number
  readonly minimum?: number
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
}

/** `ids` by noun: `recipient_agent_id` and `agent_ids` use those of `agents`. */
export function leastOf(node: object, ids: Readonly<Record<string, string>>, name = ''): unknown {
  const schema = node as Schema
  if (schema.$ref !== undefined)
    return leastOf(namedSchemas.get(schema.$ref.replace('#', '')) ?? {}, ids, name)
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return leastOf(schema.anyOf[0] ?? {}, ids, name)
  if (schema.type === 'object') {
    const required = Object.entries(schema.properties ?? {}).filter(([key]) => schema.required?.includes(key))
    return Object.fromEntries(required.map(([key, each]) => [key, leastOf(each, ids, key)]))
  }
  if (schema.type === 'array')
    return Array.from({ length: schema.minItems ?? 0 }, () => leastOf(schema.items ?? {}, ids, name))
  if (schema.type === 'integer') return schema.minimum ?? 0
  if (schema.type === 'boolean') return false
  if (schema.type === 'string') return textOf(schema, ids, name)
  return null
}

function textOf(
  { format, pattern, minLength = 1 }: Schema,
  ids: Readonly<Record<string, string>>,
  name: string,
): string {
  if (format === 'uuid') {
    const noun = /([a-z]+)_ids?$/.exec(name)?.[1]
    return ids[`${noun}s`] ?? unknownId
  }
  if (format === 'date-time') return new Date(Date.now() + 3_600_000).toISOString()
  return 'a'.repeat(pattern?.includes('{64}') ? 64 : Math.max(1, minLength))
}
