/** The cases of every endpoint. An endpoint without an entry, or a code without a case, does not compile. */
import { accessCases } from './access-cases.ts'
import { administratorCases } from './administrator-cases.ts'
import { agentCases } from './agent-cases.ts'
import type { Cases } from './case.ts'
import { ownerCases } from './owner-cases.ts'
import { publicCases } from './public-cases.ts'
import { signInCases } from './sign-in-cases.ts'
import { streamCases } from './stream-cases.ts'
import { taskCases } from './task-cases.ts'
import { transferCases } from './transfer-cases.ts'
import { upkeepCases } from './upkeep-cases.ts'

export const cases: Cases = {
  ...publicCases,
  ...agentCases,
  ...signInCases,
  ...administratorCases,
  ...accessCases,
  ...ownerCases,
  ...streamCases,
  ...taskCases,
  ...transferCases,
  ...upkeepCases,
}
