/**
 * People read and compare names, so a name with an invisible character, or one that changes the text
 * direction, is refused with the field and the code point. A name from before this rule stays usable.
 *
 * Contract §10 "Names refuse control, bidi and invisible characters: 422".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hiddenIn } from '../../../server/http/visible-characters.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { exchange } from '../../support/http.ts'
import { ownerPassword } from '../../support/owner.ts'
import { tamper } from '../../support/tamper.ts'

/** Written as code points, so that a reader sees them. */
const word = (...parts: (string | number)[]): string =>
  parts.map((part) => (typeof part === 'number' ? String.fromCodePoint(part) : part)).join('')

const [zwnj, zwj, picture16] = [0x200c, 0x200d, 0xfe0f]

const refused: readonly (readonly [string, string, string])[] = [
  ['a null', word('a', 0, 'b'), 'U+0000'],
  ['a line feed', 'two\nlines', 'U+000A'],
  ['an escape', word('a', 0x1b, '[2J'), 'U+001B'],
  ['a C1 control', word('a', 0x9b, 'b'), 'U+009B'],
  ['a line separator', word('a', 0x2028, 'b'), 'U+2028'],
  ['an override from right to left', word('ada ', 0x202e, 'nimda'), 'U+202E'],
  ['an isolate', word('a', 0x2066, 'b', 0x2069), 'U+2066'],
  ['a mark from right to left', word('a', 0x200f, 'b'), 'U+200F'],
  ['an Arabic letter mark', word('a', 0x61c, 'b'), 'U+061C'],
  ['a zero-width space', word('a', 0x200b, 'da'), 'U+200B'],
  ['a word joiner', word('a', 0x2060, 'da'), 'U+2060'],
  ['a byte order mark', word('a', 0xfeff, 'da'), 'U+FEFF'],
  ['a soft hyphen', word('a', 0xad, 'da'), 'U+00AD'],
  ['a Hangul filler', word('a', 0x3164, 'b'), 'U+3164'],
  ['a tag', word('a', 0xe0061, 'b'), 'U+E0061'],
  ['a variation selector after a letter', word('a', picture16, 'b'), 'U+FE0F'],
  ['an annotation', word('a', 0xfff9, 'b'), 'U+FFF9'],
  ['half a pair', word('a', '\ud83d', 'b'), 'U+D83D'],
  ['a joiner between Latin letters', word('ad', zwj, 'min'), 'U+200D'],
  ['a non-joiner between Latin letters', word('ad', zwnj, 'min'), 'U+200C'],
  ['a joiner at the end of an emoji', word(0x1f469, zwj, 'a'), 'U+200D'],
  ['two joiners in an emoji', word(0x1f469, zwj, zwj, 0x1f680), 'U+200D'],
  ['a non-joiner in an emoji', word(0x1f469, zwnj, 0x1f680), 'U+200C'],
  ['a digit that wants to be a picture', word('1', picture16, 'a'), 'U+FE0F'],
]

const good: readonly (readonly [string, string])[] = [
  ['Latin', 'Ada Lovelace, 2nd'],
  ['accents as marks', word('Zoe', 0x308)],
  ['Japanese', word(0x6771, 0x4eac)],
  ['Hebrew', word(0x5e9, 0x5dc, 0x5d5, 0x5dd)],
  ['Persian with a non-joiner', word(0x645, 0x6cc, zwnj, 0x62e, 0x648, 0x627, 0x647, 0x645)],
  ['Hindi with a joiner', word(0x915, 0x94d, zwj, 0x937)],
  ['an astronaut', word(0x1f469, 0x1f3fd, zwj, 0x1f680)],
  ['a family', word(0x1f468, zwj, 0x1f469, zwj, 0x1f467)],
  ['a burning heart', word(0x2764, picture16, zwj, 0x1f525)],
  ['a keycap', word('1', picture16, 0x20e3)],
]

test.each(refused)('the rule finds %s', (_what, name, codePoint) => {
  expect(hiddenIn(name)).toBe(codePoint)
})

test.each(good)('the rule accepts %s', (_what, name) => {
  expect(hiddenIn(name)).toBeUndefined()
})

let bridge: TestBridge
let agents: string

beforeAll(async () => {
  bridge = await startBridge()
  agents = `/api/admin/projects/${bridge.project.id}/agents`
})
afterAll(() => bridge.close())

const turned = word('ada ', 0x202e, 'nimda')
const problem = 'must not contain U+202E, which is a control, bidi or invisible character'
const faultsOf = (json: unknown) => (json as { details: { faults: object[] } }).details.faults

describe('a new name', () => {
  const inputs: readonly (readonly [string, () => string, object, string])[] = [
    ['of a project', () => '/api/admin/projects', { name: turned }, 'body/name'],
    ['of an agent', () => agents, { name: turned }, 'body/name'],
    ['of a role', () => agents, { name: 'good', role_name: turned }, 'body/role_name'],
    ['of a renamed agent', () => `${agents}/${bridge.ada.id}/name`, { name: turned }, 'body/name'],
    ['of an administrator', () => '/api/admin/administrators', { name: turned }, 'body/name'],
    [
      'of an environment',
      () => `/api/admin/projects/${bridge.project.id}/environments`,
      { name: turned, kind: 'laptop' },
      'body/name',
    ],
  ]
  test.each(inputs)('%s names the field and the character at fault', async (_what, where, body, path) => {
    const target = where()
    const { status, json } = await bridge.owner.call({ target, body })
    expect([status, (json as { error: string }).error]).toEqual([422, 'invalid_request'])
    expect(faultsOf(json)).toContainEqual({ path, problem })
    expect((json as { message: string }).message).toContain(`${path} ${problem}`)
  })

  test('of the owner is checked before the set-up link', async () => {
    const { status, json } = await exchange(bridge.url, {
      method: 'POST',
      target: '/api/admin/setup',
      headers: [
        ['Origin', bridge.url],
        ['Content-Type', 'application/json'],
      ],
      body: JSON.stringify({ token: 'A'.repeat(43), name: turned, password: ownerPassword }),
    })
    expect([status, faultsOf(json)]).toEqual([422, [{ path: 'body/name', problem }]])
  })

  test('of a client that starts a session is checked too', async () => {
    const client = { name: turned, version: '1' }
    const { status, json } = await bridge.ada.requestSession(undefined, { client })
    expect([status, faultsOf(json)]).toEqual([422, [{ path: 'body/client/name', problem }]])
  })

  test('with a control character names only that character in its refusal', async () => {
    const { json } = await bridge.owner.call({ target: agents, body: { name: 'two\nlines' } })
    expect(faultsOf(json)).toEqual([
      {
        path: 'body/name',
        problem: 'must not contain U+000A, which is a control, bidi or invisible character',
      },
    ])
  })

  test.each(['owner', 'Owner', 'OWNER'])('%j is refused for an agent', async (name) => {
    const fault = { path: 'body/name', problem: 'must not be "owner", which is the word for the owner' }
    for (const target of [agents, `${agents}/${bridge.ada.id}/name`]) {
      const { status, json } = await bridge.owner.call({ target, body: { name } })
      expect([status, faultsOf(json)]).toEqual([422, [fault]])
    }
    expect(await bridge.owner.ok({ target: `${agents}/${bridge.ada.id}` })).toMatchObject({ name: 'ada' })
  })

  test('that contains the word owner is stored, and an agent named owner keeps its name', async () => {
    const { id } = await bridge.owner.createAgent(bridge.project.id, 'owner 2')
    tamper(bridge.data, (database) => {
      database.prepare("UPDATE agents SET name = 'owner' WHERE id = ?").run(id)
    })
    const kept = await bridge.owner.call({ target: `${agents}/${id}/name`, body: { name: 'owner' } })
    expect([kept.status, kept.json]).toEqual([200, { id, name: 'owner' }])
  })

  test.each(good)('in %s is stored unchanged', async (_what, name) => {
    const { id } = await bridge.owner.createAgent(bridge.project.id, name)
    expect(await bridge.owner.ok({ target: `${agents}/${id}` })).toMatchObject({ name })
  })
})

test('a name from before the rule is shown, and works for confirmation and sign-in', async () => {
  const { id } = await bridge.owner.createProject('old')
  tamper(bridge.data, (database) => {
    database.prepare('UPDATE projects SET name = ? WHERE id = ?').run(turned, id)
    database.prepare("UPDATE owner_users SET name = ? WHERE role = 'owner'").run(turned)
  })
  const { project } = await bridge.owner.ok<{ project: { name: string } }>({
    target: `/api/admin/projects/${id}`,
  })
  expect(project.name).toBe(turned)
  await bridge.owner.deleteProject(id, turned)
  const signedIn = await exchange(bridge.url, {
    method: 'POST',
    target: '/api/admin/session',
    headers: [
      ['Origin', bridge.url],
      ['Content-Type', 'application/json'],
    ],
    body: JSON.stringify({ name: turned, password: ownerPassword }),
  })
  expect(signedIn.status).toBe(200)
})
