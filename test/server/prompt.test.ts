/** The profile name in an enrolment prompt is valid for the command. Contract §4, §12. */
import { describe, expect, test } from 'vitest'
import { profilePaths } from '../../cli/profile/profile.ts'
import { enrollmentPrompt, profileOf } from '../../server/enrollments/prompt.ts'

const agentId = '01890000-0000-7000-8000-0000deadbeef'

const profiles: readonly [name: string, profile: string][] = [
  ['ada', 'ada'],
  ['Ada Lovelace', 'ada-lovelace'],
  ['-_-ada_', 'ada_'],
  ['a.b/c', 'a-b-c'],
  ['x'.repeat(80), 'x'.repeat(64)],
  ['Ада', 'agent-deadbeef'],
  ['Ада 2', '2-deadbeef'],
  ['José', 'jos-deadbeef'],
  [`${'x'.repeat(79)}é`, `${'x'.repeat(55)}-deadbeef`],
  ['!!!', 'agent-deadbeef'],
  ['___', 'agent-deadbeef'],
  ['👩‍🚀', 'agent-deadbeef'],
]

describe('an agent named', () => {
  test.each(profiles)(
    '%s gets a separate profile with a name that the command accepts',
    (agentName, profile) => {
      expect(profileOf({ agentName, agentId })).toBe(profile)
      expect(() => profilePaths('/nowhere', profile)).not.toThrow()
    },
  )
})

test('two names without any valid character get different profiles', () => {
  const other = '01890000-0000-7000-8000-0000cafecafe'
  expect(profileOf({ agentName: 'Ада', agentId })).not.toBe(profileOf({ agentName: 'Ева', agentId: other }))
})

test.each([
  ['http://192.168.1.7:8484', true],
  ['http://localhost.example', true],
  ['http://127.0.0.1:8484', false],
  ['http://localhost:8484', false],
  ['http://[::1]:8484', false],
  ['https://bridge.example', false],
])('the command for %s contains the flag for plain HTTP: %s', (url, said) => {
  const names = { agentId, agentName: 'ada', projectName: 'demo', code: 'c', expiresAt: 'soon' }
  const prompt = enrollmentPrompt({ ...names, url, binding: 'key' })
  expect(prompt).toContain(`--url ${url} --profile ada${said ? ' --allow-plain-http' : ''} <<'CODE'`)
})
