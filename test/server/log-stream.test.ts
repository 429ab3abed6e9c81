/**
 * Writing the log. The lines of one turn are written together, in order, up to the last line. The file also
 * tests a reader that stops.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { GatheredLines } from '../../server/log-stream.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A stream that records writes; it confirms them only if it `reads`. */
function reader(reads: boolean) {
  const writes: string[] = []
  const to = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      writes.push(chunk)
      if (reads) done()
    },
  })
  return { to, writes }
}

test('the lines of one turn are one write, in their order', async () => {
  const { to, writes } = reader(true)
  const lines = new GatheredLines(to)
  for (const line of ['a\n', 'b\n', 'c\n']) lines.write(line)
  expect(writes).toEqual([])
  await turn()
  lines.write('d\n')
  await turn()
  expect(writes).toEqual(['a\nb\nc\n', 'd\n'])
})

test('while the reader has stopped, a bounded number of lines is kept', async () => {
  const { to } = reader(false)
  const lines = new GatheredLines(to)
  const line = `${'x'.repeat(99_999)}\n`
  for (let count = 0; count < 30; count += 1) {
    lines.write(line)
    await turn()
  }
  expect(to.writableLength).toBeGreaterThan(1_000_000)
  expect(to.writableLength).toBeLessThan(1_200_000)
})

const module = new URL('../../server/log-stream.ts', import.meta.url).href
const program = (body: string) => [
  '--input-type=module',
  '-e',
  `import { standardError } from '${module}'; const log = standardError(); ${body}`,
]

test.each([
  ['it exits', 'process.exit(7)', 7],
  ['an uncaught error ends it', 'throw new Error("thrown")', 1],
  ['it has no more work', '', 0],
])('the last lines are written when %s', (_what, end, code) => {
  const body = `for (let i = 0; i < 500; i += 1) log.write('line ' + i + '\\n'); ${end}`
  const { status, stderr } = spawnSync(process.execPath, program(body), { encoding: 'utf8' })
  expect(status).toBe(code)
  const written = stderr.split('\n').filter((line) => line.startsWith('line '))
  expect(written).toEqual(Array.from({ length: 500 }, (_, index) => `line ${index}`))
})

test('a closed reader ends no process', async () => {
  const body = `
    process.stdin.once('end', async () => {
      for (let i = 0; i < 20; i += 1) {
        log.write('line\\n')
        await new Promise((resolve) => setImmediate(resolve))
      }
      process.stdout.write('still here')
    }).resume()`
  const child = spawn(process.execPath, program(body), { stdio: 'pipe' })
  const ended = once(child, 'exit')
  child.stderr.destroy()
  await once(child.stderr, 'close')
  child.stdin.end()
  expect(await text(child.stdout)).toBe('still here')
  expect(await ended).toEqual([0, null])
})
