/** The profile name in an enrolment prompt is valid for the command. Contract §4, §12. */
import { describe, expect, test } from 'vitest'
import { profilePaths } from '../../cli/profile/profile.ts'
import { installLine } from '../../server/enrollments/install-line.ts'
import { enrollmentPrompt, type Invitation, profileOf } from '../../server/enrollments/prompt.ts'

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

describe('the prompt is short', () => {
  const client = {
    version: '0.1.0',
    file: 'agent-bridge-client-0.1.0-0123abcd.tgz',
    sha256: 'a'.repeat(64),
    size: 1,
    node: '22.19.0',
  }
  const invitation = {
    agentId,
    agentName: 'ada',
    projectName: 'demo',
    url: 'https://bridge.example.com',
    code: `enroll_${'x'.repeat(24)}`,
    binding: 'key',
    expiresAt: '2026-01-01T00:00:00.000Z',
    client,
  } as const
  const tokens = (text: string) => text.length / 4

  const names = { agentName: 'x'.repeat(80), projectName: 'y'.repeat(80) }
  const host = `${'bridge.'.repeat(6)}example.com:8484`

  test.each<[string, Partial<Invitation>]>([
    ['by default', {}],
    ['if the program comes from elsewhere', { client: undefined }],
    ['for names of 80 letters', names],
    ['for a device', { binding: 'device', url: `https://${host}` }],
    ['for all of these, over plain http', { ...names, binding: 'device', url: `http://${host}` }],
  ])('%s: under 700 tokens', (_what, changed) => {
    expect(tokens(enrollmentPrompt({ ...invitation, ...changed }))).toBeLessThan(700)
  })

  test.each<[string, Partial<Invitation>]>([
    ['by default', {}],
    ['for long names, a device and a long address', { ...names, binding: 'device', url: `https://${host}` }],
  ])('%s, a certificate authority adds itself and 40 tokens of commands', (_what, changed) => {
    const authority = `-----BEGIN CERTIFICATE-----\n${'A'.repeat(600)}\n-----END CERTIFICATE-----\n`
    const plain = { ...invitation, ...changed }
    const prompt = enrollmentPrompt({ ...plain, authority })
    expect(prompt).toContain(authority)
    expect(tokens(prompt) - tokens(enrollmentPrompt(plain)) - tokens(authority)).toBeLessThanOrEqual(40)
  })

  test('without a client package, the authority is written before the command that names its file', () => {
    const authority = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
    const prompt = enrollmentPrompt({ ...invitation, client: undefined, authority })
    const [, file = 'none'] = / --ca (\S+)/.exec(prompt) ?? []
    const written = prompt.indexOf(`cat >${file} <<'PEM'\n${authority}PEM\n`)
    expect(written).toBeGreaterThan(0)
    expect(written).toBeLessThan(prompt.indexOf('--ca'))
    expect(prompt).not.toContain('NODE_EXTRA_CA_CERTS')
  })

  test('no character of the line has a meaning for a shell between double quotes', () => {
    const [, script = ''] = /^node -e "(.*)"$/.exec(installLine(invitation.url, client)) ?? []
    expect(script).not.toMatch(/["$`!%\\^]/)
    expect(script).toMatch(/^[\x20-\x7e]+$/)
  })
})
