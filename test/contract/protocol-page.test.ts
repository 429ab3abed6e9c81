/**
 * docs/protocol.md names exactly the events, frames, close codes and error codes of the contract.
 *
 * The rows are compared with the contract, so an event without a row is found, and so is a row without an
 * event.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ClientFrame, closeCodes, ServerFrame, StreamEvent } from '../../sdk/contract/agent/events.ts'
import { errors } from '../../sdk/contract/errors.ts'
import { namedSchemas } from '../../sdk/contract/primitives.ts'

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')

/** Returns a column of the table whose header row begins with these words. */
function column(header: string, index = 0): string[] {
  const [, rows = ''] = page.split(`\n| ${header} |`)
  const [table = ''] = rows.split('\n\n', 1)
  return table
    .split('\n')
    .filter((row) => row.startsWith('|'))
    .slice(1)
    .map((row) => row.split('|')[index + 1]?.replaceAll('`', '').trim() ?? '')
}

interface Shape {
  readonly $ref?: string
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, { readonly const?: string }>>
}

/** Returns the values that a field may have, over all alternatives of a schema. */
function wordsOf(shape: Shape, field: string): string[] {
  if (shape.$ref !== undefined) return wordsOf(namedSchemas.get(shape.$ref.replace('#', '')) as Shape, field)
  if (shape.anyOf !== undefined) return shape.anyOf.flatMap((each) => wordsOf(each, field))
  return [shape.properties?.[field]?.const ?? '']
}

const tables: readonly (readonly [what: string, told: string[], known: readonly string[]])[] = [
  ['event of the event stream', column('event'), wordsOf(StreamEvent as Shape, 'event')],
  ['frame of a client', column('frame of the client'), wordsOf(ClientFrame as Shape, 'type')],
  ['frame of the node', column('frame of the node'), wordsOf(ServerFrame as Shape, 'type')],
  // 1009 is defined by the WebSocket protocol; 1006 is no frame, but a client's view of a broken connection.
  ['close code', column('close code'), [...Object.values(closeCodes).map(String), '1009', 'none (1006)']],
  ['error code', column('code | status | retry'), Object.keys(errors)],
]

describe('docs/protocol.md', () => {
  test.each(tables)('names each %s, and no other', (_what, told, known) => {
    expect(told.length).toBeGreaterThan(1)
    expect(told.toSorted()).toEqual(known.toSorted())
  })
})
