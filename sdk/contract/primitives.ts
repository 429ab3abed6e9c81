/**
 * The small schemas that every noun is made of.
 *
 * Three keywords are ours:
 *
 * - `x-max-bytes` counts bytes of UTF-8, since JSON Schema's `maxLength` counts characters.
 * - `x-well-formed` refuses lone surrogates, which a UTF-8 store would change in silence.
 * - `x-visible` refuses control, bidi and invisible characters. A pattern cannot, since some stand in the right place.
 *
 * Contract §1.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { limits } from './limits.ts'

/** Every schema that has a name, by name. */
export const namedSchemas = new Map<string, TSchema>()

/** Give a schema the name under which it stands in the API description. */
export const named = <T extends TSchema>(name: string, schema: T): T => {
  const withId = Object.assign(schema, { $id: name })
  namedSchemas.set(name, withId)
  return withId
}

/** Refer to a named schema; the type stays that of the schema, the document holds a `$ref`. */
export const ref = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T>>({ $ref: `${(schema as { $id?: string }).$id}#` })

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of these words. */
export const words = <const T extends string>(all: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(all.map((each) => Type.Literal(each))))

/** An object that refuses fields it does not know. */
export const Strict = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

export const Uuid = Type.String({
  format: 'uuid',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  maxLength: 36,
})

/** ISO 8601, UTC, milliseconds, `Z`, and a date that the calendar has. */
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

/** A name of 1..80 characters, as it is shown: it may be older than a rule for new ones. */
export const Name = Line(limits.nameChars)

/** A name that somebody gives now: every character of it is seen. */
export const NewName = Type.String({
  ...Name,
  'x-visible': true,
  description:
    'No control, bidi or invisible character, such as U+202E or U+200B; joiners stand where a script or an emoji needs them.',
})

export const Empty = named('Empty', Strict({}))

export const IdParams = Strict({ id: Uuid })

/** Query of a list: `limit`, and `after`, the `next_after` of the page before. */
export const PageQuery = Strict({
  after: Type.Optional(Uuid),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.pageMax, default: limits.pageDefault })),
})

/** A page of a list, its array named after the resource. `next_after` is null when the page is empty and no cursor was given. */
export const pageOf = <K extends string, T extends TSchema>(key: K, item: T) =>
  Type.Object({
    ...({ [key]: Type.Array(ref(item)) } as {
      [P in K]: ReturnType<typeof Type.Array<ReturnType<typeof ref<T>>>>
    }),
    has_more: Type.Boolean(),
    next_after: Nullable(Uuid),
  })
