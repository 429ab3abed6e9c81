/**
 * Basic schemas that the other schemas are built from.
 *
 * The contract adds three JSON Schema keywords:
 *
 * - `x-max-bytes` limits bytes of UTF-8. `maxLength` of JSON Schema counts characters.
 * - `x-well-formed` refuses lone surrogates, which UTF-8 storage would silently replace.
 * - `x-visible` refuses control, bidi and invisible characters. A pattern cannot express it, because some of
 *   them are correct in certain places, such as joiners in emoji.
 *
 * Contract §1.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { limits } from './limits.ts'

/** All named schemas by name. */
export const namedSchemas = new Map<string, TSchema>()

/** Registers a schema under the name that it has in the API description. */
export const named = <T extends TSchema>(name: string, schema: T): T => {
  const withId = Object.assign(schema, { $id: name })
  namedSchemas.set(name, withId)
  return withId
}

/** Returns a `$ref` to a named schema, with the schema's own TypeScript type. */
export const ref = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T>>({ $ref: `${(schema as { $id?: string }).$id}#` })

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** Schema of a string that is one of the given words. */
export const words = <const T extends string>(all: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(all.map((each) => Type.Literal(each))))

/** Schema of an object that refuses unknown fields. */
export const Strict = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** Schema of a change: each field is optional, and at least one must be given. */
export const Change = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Partial(Strict(properties), { additionalProperties: false, minProperties: 1 })

export const Uuid = Type.String({
  format: 'uuid',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  maxLength: 36,
})

/** ISO 8601 in UTC with milliseconds and `Z`. The date must exist in the calendar. */
export const Timestamp = Type.String({
  format: 'date-time',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
  maxLength: 24,
})

export const Sequence = Type.Integer({ minimum: 0, maximum: limits.sequenceMax })

/** Free text of at most `maxBytes` bytes of UTF-8. */
export const Text = (maxBytes: number, minLength = 0) =>
  Type.String({ minLength, 'x-max-bytes': maxBytes, 'x-well-formed': true })

/** One line that neither starts nor ends with a space and holds no control character. */
export const Line = (maxLength: number) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern:
      '^[^\\s\\u0000-\\u001f\\u007f-\\u009f](?:[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f])?$',
    'x-well-formed': true,
  })

/** Name of 1 to 80 characters, in an answer. It may predate the stricter rules of {@link NewName}. */
export const Name = Line(limits.nameChars)

/** Name in a request: every character must be visible. */
export const NewName = Type.String({
  ...Name,
  'x-visible': true,
  description:
    'No control, bidi or invisible characters, such as U+202E or U+200B. Joiners are allowed where a script or an emoji needs them.',
})

export const Empty = named('Empty', Strict({}))

export const IdParams = Strict({ id: Uuid })

/** Query of a list: `limit`, and `after`, which is the `next_after` of the previous page. */
export const PageQuery = Strict({
  after: Type.Optional(Uuid),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.pageMax, default: limits.pageDefault })),
})

/** Direction of a list. `after` continues in it, so with `newest_first` it means older. */
export const ListOrder = Type.Union([Type.Literal('oldest_first'), Type.Literal('newest_first')], {
  default: 'oldest_first',
})
export type ListOrder = Static<typeof ListOrder>

/** Query of a list of the owner, which has a direction. */
export const OrderedPageQuery = Strict({ ...PageQuery.properties, order: Type.Optional(ListOrder) })

/** Schema of one page of a list. `next_after` is null if the page is empty and the request had no `after`. */
export const pageOf = <K extends string, T extends TSchema>(key: K, item: T) =>
  Type.Object({
    ...({ [key]: Type.Array(ref(item)) } as {
      [P in K]: ReturnType<typeof Type.Array<ReturnType<typeof ref<T>>>>
    }),
    has_more: Type.Boolean(),
    next_after: Nullable(Uuid),
  })
