/** What the guide of tasks says of refusals: every one that a task can meet, with the exit code that the program has for it. */
import { expect, test } from 'vitest'
import { exitCodes, refusalExits } from '../../cli/exit-codes.ts'
import { tasks } from '../../sdk/contract/agent/tasks.ts'
import type { ErrorCode } from '../../sdk/contract/errors.ts'
import { guideTexts } from '../../server/guides/texts.ts'

/** `- claim_held, exit 7: …`; several codes may stand before their exit. */
const told = new Map(
  [...guideTexts.tasks.matchAll(/^- ([a-z_, ]+), exit (\d+):/gm)].flatMap(([, codes = '', exit]) =>
    codes.split(', ').map((code) => [code, Number(exit)] as const),
  ),
)

const refused = new Set<ErrorCode>(Object.values(tasks).flatMap(({ errors }) => errors))

test.each([...refused])('the guide of tasks says what %s means, and how it exits', (code) => {
  expect(told.get(code)).toBe(exitCodes[refusalExits[code]])
})

test('the guide of tasks names no refusal that there is not', () => {
  expect([...told.keys()].filter((code) => !refused.has(code as ErrorCode))).toEqual([])
})
