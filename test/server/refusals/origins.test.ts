/**
 * The Origin of an owner's POST: exactly one, compared byte for byte, and checked before anything else.
 *
 * Interface §5, contract §10, reliability T26 to T28.
 */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { endpoints } from '../../../sdk/contract/index.ts'
import { rowsAt } from '../../support/attacks.ts'
import { TestOwner } from '../../support/owner.ts'
import type { Ready } from '../endpoints/send.ts'
import { type Attempt, Attempts, named } from './attempts.ts'

const posts = endpoints.filter(({ caller, method }) => caller.startsWith('owner') && method === 'POST')

let attempts: Attempts

beforeAll(async () => {
  attempts = await Attempts.start(posts)
})
afterAll(() => attempts.close())

const originOf = ({ by }: Ready) => ('url' in by ? by.url : by.baseUrl)

/** Origins similar to one such as `http://127.0.0.1:8484`, but different. */
function others(origin: string): Record<string, string | null> {
  const { hostname, port } = new URL(origin)
  return {
    absent: null,
    empty: '',
    null: 'null',
    'another host': `http://elsewhere.example:${port}`,
    'another name of this host': `http://localhost:${port}`,
    'another port': `http://${hostname}:1`,
    'no port': `http://${hostname}`,
    'another scheme': `https://${hostname}:${port}`,
    'in upper case': origin.toUpperCase(),
    'with a slash': `${origin}/`,
    'with a path': `${origin}/portal`,
    'with a dot after the host': `http://${hostname}.:${port}`,
    'with more before it': `http://a.${hostname}:${port}`,
    'with more after it': `${origin}0`,
    'as a prefix': `${origin}.elsewhere.example`,
    'with a user': `http://user@${hostname}:${port}`,
    'with a name beyond ASCII': `http://xn--brdge-uta.example:${port}`,
    'two in one line': `${origin}, ${origin}`,
    'two in one line, spaced': `${origin} ${origin}`,
  }
}

describe.each(named(posts))('$id', ({ entry, place }) => {
  test("is refused from any origin but the portal's", async () => {
    const ready = attempts.ready(entry)
    const origin = originOf(ready)
    const all = Object.entries(others(origin)).map(
      ([what, value]): Attempt => ({
        what,
        ready: { ...ready, override: { Origin: value } },
        code: 'origin_mismatch',
      }),
    )
    const twice: Attempt = {
      what: 'twice',
      ready: { ...ready, extra: [['Origin', origin]] },
      code: 'origin_mismatch',
    }
    const sites = ['cross-site', 'same-site', 'none', 'other'].map(
      (site): Attempt => ({
        what: `fetched ${site}`,
        ready: { ...ready, extra: [['Sec-Fetch-Site', site]] },
        code: 'origin_mismatch',
      }),
    )
    await attempts.expectRefused(entry, rowsAt(place, 4, [...all, twice, ...sites]))
  })

  test('checks the origin before identity and body', async () => {
    const stranger = new TestOwner(originOf(attempts.ready(entry)), 'bridge_owner_dev=unknown')
    const ready = { ...attempts.ready(entry), by: stranger, key: null, body: 'no JSON' }
    await attempts.expectRefused(entry, [
      { what: 'all wrong', ready: { ...ready, override: { Origin: 'null' } }, code: 'origin_mismatch' },
    ])
  })

  test('is accepted from the portal', async () => {
    const ready = attempts.ready(entry)
    await attempts.expectAccepted(entry, { ...ready, extra: [['Sec-Fetch-Site', 'same-origin']] })
  })
})
