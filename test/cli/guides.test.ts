/**
 * The guides for agents contain every refusal that a task can get, with its exit code, and the place of
 * unacknowledged mail.
 */
import { expect, test } from 'vitest'
import { exitCodes, refusalExits } from '../../cli/exit-codes.ts'
import { guideTopics } from '../../sdk/contract/agent/guides.ts'
import { tasks } from '../../sdk/contract/agent/tasks.ts'
import type { ErrorCode } from '../../sdk/contract/errors.ts'
import { guideTexts } from '../../sdk/contract/guide-texts.ts'
import { enrollmentPrompt } from '../../server/enrollments/prompt.ts'
import { runHere } from './frame.ts'

/** Lines such as `- claim_held, exit 7: …`, in which several codes may share an exit code. */
const told = new Map(
  [...guideTexts.tasks.matchAll(/^- ([a-z_, ]+), exit (\d+):/gm)].flatMap(([, codes = '', exit]) =>
    codes.split(', ').map((code) => [code, Number(exit)] as const),
  ),
)

const refused = new Set<ErrorCode>(Object.values(tasks).flatMap(({ errors }) => errors))

test.each([...refused])('the guide of tasks explains %s with its exit code', (code) => {
  expect(told.get(code)).toBe(exitCodes[refusalExits[code]])
})

test('the guide of tasks names no unknown refusal', () => {
  expect([...told.keys()].filter((code) => !refused.has(code as ErrorCode))).toEqual([])
})

const prompt = enrollmentPrompt({
  agentId: '01980000-0000-7000-8000-000000000001',
  agentName: 'ada',
  projectName: 'demo',
  url: 'http://127.0.0.1:8484',
  code: 'a-code',
  binding: 'key',
  expiresAt: '2026-01-01T00:00:00.000Z',
  client: {
    version: '0.1.0',
    file: 'agent-bridge-client-0.1.0-0123abcd.tgz',
    sha256: 'a'.repeat(64),
    size: 1,
    node: '22.19.0',
  },
})

test('an agent reads at most 1,500 tokens to be able to work: the prompt and the primer that it names', async () => {
  const { stdout } = await runHere(['help', 'agents'])
  expect(prompt).toContain('agent-bridge help agents')
  expect((prompt.length + stdout.length) / 4).toBeLessThanOrEqual(1500)
})

test.each([
  ['the guide of messages', async () => guideTexts.messaging],
  ['the primer', async () => (await runHere(['help', 'agents'])).stdout],
  ['the enrolment prompt', async () => prompt],
])(
  '%s explains that listen prints a message once, and that inbox shows unacknowledged ones',
  async (_what, text) => {
    const words = (await text()).replace(/\s+/g, ' ')
    expect(words).toMatch(/prints each message once|message is printed once/)
    expect(words).toMatch(/inbox lists (all )?unacknowledged messages/)
    expect(words).toMatch(/bridge inbox/)
    // Only streams of the SDK offer it again; a profile prints no message twice.
    expect(words).not.toMatch(/comes again/)
  },
)

test.each(guideTopics)(
  'without an identity, bridge guide %s prints the copy of the program',
  async (topic) => {
    const { code, stdout, stderr } = await runHere(['guide', topic], { BRIDGE_HOME: '/no-home' })
    expect([code, stdout]).toEqual([0, guideTexts[topic]])
    expect(stderr).toBe('no identity in the profile default: this copy of the guide comes with the program\n')
  },
)

test('the help lists the first commands first, and every command under a heading', async () => {
  const { stdout } = await runHere(['--help'])
  const headings = [...stdout.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading)
  expect(headings.slice(0, 3)).toEqual(['Options', 'Start here', 'Messages'])
  expect(headings).not.toContain('Commands')
  expect(stdout).toMatch(/^Start here:\n {2}\w/m)
})
