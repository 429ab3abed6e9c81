/**
 * Node, sender, recipient and helper are each killed at every request of a transfer, in both modes. Repeating
 * the same commands produces the exact file and one transfer, and a cancelled transfer leaves nothing. No
 * bytes remain on any side.
 *
 * The default is one step. BRIDGE_TRANSFER_KILLS=all covers every step (about an hour on two busy cores), a
 * number n covers every nth step.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Mode, type Scenario, Stage } from './lab/transfer-stage.ts'

const { BRIDGE_TRANSFER_KILLS: asked } = process.env

let stage: Stage
beforeAll(async () => {
  stage = await Stage.open()
})
afterAll(() => stage?.close())

const told = ({ on, step, moment, victim, afterwards }: Scenario) =>
  `${victim} at ${moment} of ${on}'s ${step}, then ${afterwards}`

const few: readonly Scenario[] = [
  {
    mode: 'direct',
    sealed: false,
    on: 'helper',
    step: 'GET /v1/parts/0 #1',
    moment: 'half',
    victim: 'sender',
    afterwards: 'again',
  },
]

test.skipIf(asked !== undefined).each(few)(
  'a $mode transfer with $victim killed at $step, $moment, loses, duplicates and leaves nothing',
  async (scenario) => {
    expect(await stage.play(scenario)).toEqual([])
  },
)

test.skipIf(asked === undefined).each<[Mode, boolean]>([
  ['package', false],
  ['package', true],
  ['direct', false],
  ['direct', true],
])(
  'a %s transfer, sealed: %j, killed at every step, loses, duplicates and leaves nothing',
  { timeout: 7_200_000 },
  async (mode, sealed) => {
    const every = asked === 'all' ? 1 : Number(asked)
    const scenarios = (await stage.steps(mode, sealed)).filter((_, place) => place % every === 0)
    const wrong: string[] = []
    for (const scenario of scenarios) {
      const found = await stage.play(scenario)
      wrong.push(...found.map((what) => `${told(scenario)}: ${what}`))
    }
    process.stdout.write(`${mode}, sealed ${sealed}: ${scenarios.length} kills, ${wrong.length} wrong\n`)
    expect(wrong).toEqual([])
  },
)
