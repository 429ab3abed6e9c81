/**
 * Arguments of tools: their schema for clients, and our own check of what arrives.
 *
 * The check never relies on the client, because a harness may drop parts of a schema. Codex drops bounds.
 */

import { similarWords } from '../../../sdk/contract/spelling.ts'
import { startOf } from '../../../sdk/plain-text.ts'
import { CommandError } from '../../exit-codes.ts'
import { id } from '../../ids/parse.ts'
import type { SeenIds } from '../../ids/seen.ts'
import { type IdArgument, idOfArgument } from '../../ids/typed.ts'
import type { Params } from '../protocol/json-rpc.ts'

export type Property = { readonly description?: string } & (
  | { readonly type: 'string'; readonly enum?: readonly string[]; readonly idOf?: IdOf }
  | { readonly type: 'string'; readonly oneOf: readonly string[] }
  | { readonly type: 'integer'; readonly from: number; readonly to: number }
  | { readonly type: 'boolean' }
  | { readonly type: 'array'; readonly most: number; readonly idOf?: IdOf }
)

/** Kind of object that an id names. `last` is the last one that the profile printed, as in commands. */
export interface IdOf {
  readonly name: IdArgument
  /** Whether a name is accepted too. */
  readonly orName?: true
  /** Whether `last` leaves out the messages of this profile. */
  readonly ofOthers?: true
}

export type Properties = Readonly<Record<string, Property>>

type ValueOf<P extends Property> = P extends
  | { readonly enum: readonly (infer Word)[] }
  | { readonly oneOf: readonly (infer Word)[] }
  ? Word
  : { string: string; integer: number; boolean: boolean; array: readonly string[] }[P['type']]

/** Checked values. Those in `Required` are present. */
export type Values<P extends Properties, Required extends keyof P> = {
  readonly [Name in Exclude<keyof P, Required>]?: ValueOf<P[Name]>
} & { readonly [Name in Required]: ValueOf<P[Name]> }

/** Returns the JSON schema for clients. It leaves out bounds, because all definitions share 4,096 bytes. */
export function schemaOf(properties: Properties, required: readonly string[]): object {
  const shown = Object.entries(properties).map(([name, property]) => [name, shownOf(property)])
  return {
    type: 'object',
    properties: Object.fromEntries(shown),
    ...(required.length > 0 && { required }),
  }
}

const shownOf = (property: Property): object => ({
  type: property.type,
  ...('enum' in property && { enum: property.enum }),
  ...(property.type === 'array' && { items: { type: 'string' } }),
  ...(property.description !== undefined && { description: property.description }),
})

/**
 * Checks the arguments of a call, and completes ids from those that the profile has printed.
 *
 * @throws CommandError for the first fault
 */
export function checked(
  properties: Properties,
  required: readonly string[],
  { given, seen }: { readonly given: Params; readonly seen: SeenIds },
): Params {
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) throw unknown(name, Object.keys(properties))
    // Some models write null for an argument that they leave out.
    if (value !== null) values[name] = checkedValue({ name, seen }, property, value)
  }
  const missing = required.find((name) => !Object.hasOwn(values, name))
  if (missing !== undefined) throw wrong(missing, 'is missing')
  return values
}

export const wrong = (name: string, problem: string, hint?: string): CommandError =>
  new CommandError('usage', `"${name}" ${problem}`, { hint })

function unknown(name: string, names: readonly string[]): CommandError {
  const near = similarWords(name, names, 1).map((each) => `did you mean "${each}"?`)
  const hint =
    near[0] ?? (names.length === 0 ? 'this tool takes none' : `this tool takes ${names.join(', ')}`)
  return wrong(startOf(name, 64), 'is not an argument of this tool', hint)
}

interface Place {
  readonly name: string
  readonly seen: SeenIds
}

function checkedValue(place: Place, property: Property, value: unknown): unknown {
  const { name } = place
  switch (property.type) {
    case 'boolean':
      if (typeof value === 'boolean') return value
      throw wrong(name, 'must be true or false')
    case 'integer': {
      const { from, to } = property
      if (Number.isInteger(value) && Number(value) >= from && Number(value) <= to) return value
      throw wrong(name, `must be a whole number from ${from} to ${to}`)
    }
    case 'array': {
      const { most, idOf } = property
      if (Array.isArray(value) && value.length >= 1 && value.length <= most)
        return value.map((item) => checkedText(place, item, idOf))
      throw wrong(name, `must be a list of 1 to ${most} strings`)
    }
    case 'string':
      return checkedWord(place, property, value)
  }
}

function checkedWord(place: Place, property: Property & { readonly type: 'string' }, value: unknown): string {
  const text = checkedText(place, value, 'idOf' in property ? property.idOf : undefined)
  const words = 'oneOf' in property ? property.oneOf : 'enum' in property ? property.enum : undefined
  if (words === undefined || words.includes(text)) return text
  throw wrong(place.name, `must be one of ${words.join(', ')}`)
}

/** A text without half of a surrogate pair, which the node would refuse. An id is completed, in lower case. */
function checkedText({ name, seen }: Place, value: unknown, idOf: IdOf | undefined): string {
  if (typeof value !== 'string' || value === '') throw wrong(name, 'must be a text that is not empty')
  if (!value.isWellFormed()) throw wrong(name, 'must be valid Unicode')
  if (idOf === undefined) return value
  return idOfArgument(seen, idOf.orName === true ? value : idIn(name, value), idOf)
}

function idIn(name: string, value: string): string {
  try {
    return id(value)
  } catch {
    throw wrong(
      name,
      'must be an id (a UUID), at least 6 characters of its end, or "last"',
      'copy it from the result of another tool',
    )
  }
}

/** Drops the values that are undefined. */
export const given = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }
