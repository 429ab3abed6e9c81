/** A pair that plays the story closes in the middle of any step, so that a test that failed ends. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { chanceFrom } from '../../support/chance.ts'
import { setUpOwner } from '../../support/owner.ts'
import { startServerProcess } from '../../support/process.ts'
import { Pair } from '../lab/cluster/story.ts'

const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const pairs = 16
/** At least as long as a few steps. */
const withinMs = 1500

test(`a pair closes at any moment of the story (seed ${seed})`, async () => {
  const server = await startServerProcess()
  onTestFinished(() => server.close())
  const owner = await setUpOwner(server.url, server.setupLink)
  const project = await owner.createProject('demo', { policy: { message_budget: 1_000_000 } })
  const chance = chanceFrom(seed)
  const closing = Array.from({ length: pairs }, async (_, index) => {
    const folder = join(server.folder, `pair-${index}`)
    const pair = await Pair.start(owner, project.id, `pair-${index}`, folder)
    await sleep(chance() * withinMs)
    await pair.close()
    return pair.steps.length
  })
  for (const steps of await Promise.all(closing)) expect(steps).toBeGreaterThan(0)
})
