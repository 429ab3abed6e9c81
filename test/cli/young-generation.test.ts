import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const module = new URL('../../cli/startup/young-generation.ts', import.meta.url).href

/** The size in MiB of V8's young generation after many allocations, of which some were kept for a while. */
const program = (bound: string) => `
  const { getHeapSpaceStatistics } = await import('node:v8')
  const { boundYoungGeneration, holdYoungGeneration } = await import('${module}')
  ${bound}
  const kept = []
  for (let turn = 0; turn < 100; turn += 1) {
    kept[turn % 20] = Array.from({ length: 20_000 }, (_, index) => ({ index }))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  process.stdout.write(String(space_size / 2 ** 20))`

const sizeOf = async (bound: string) => {
  const args = ['--input-type=module', '--max-semi-space-size=16', '-e', program(bound)]
  return Number((await promisify(execFile)(process.execPath, args)).stdout)
}

test('a busy process uses little memory for new objects once the young generation is bounded', async () => {
  const [unbounded, bounded, held, both] = await Promise.all([
    sizeOf(''),
    sizeOf('boundYoungGeneration()'),
    sizeOf('holdYoungGeneration()'),
    sizeOf('holdYoungGeneration(); boundYoungGeneration()'),
  ])
  expect(unbounded).toBeGreaterThan(16)
  expect(bounded).toBeLessThanOrEqual(16)
  expect(held).toBeLessThan(bounded)
  // The hold applied at the start only. How far V8 grows below the bound depends on when it collects.
  expect(both).toBeGreaterThan(held)
  expect(both).toBeLessThanOrEqual(16)
})
