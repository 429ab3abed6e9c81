/** The line that is redrawn while files are transferred, with a clock that the test moves. Contract §12. */
import { PassThrough, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import type { CliContext } from '../../cli/context.ts'
import { createIo } from '../../cli/terminal/io.ts'
import { transferProgress } from '../../cli/transfers/progress.ts'
import type { TransferProgress } from '../../sdk/index.ts'

const MiB = 1024 * 1024

function shown(files: number, { json = false, terminal = true, columns = 80 } = {}) {
  let now = 0
  const drawn: string[] = []
  const sink = (isTTY: boolean) =>
    Object.assign(new Writable({ write: (chunk, _, done) => done(void drawn.push(String(chunk))) }), {
      isTTY,
      columns,
    })
  const streams = { stdin: new PassThrough(), stdout: sink(true), stderr: sink(terminal) }
  const io = createIo(streams)
  const context = { io, settings: { json }, clock: () => new Date(now) } as unknown as CliContext
  const progress = transferProgress(context, 'uploaded', files)
  return { drawn, progress, io, after: (ms: number) => (now += ms) }
}

const moving = (bytes: number, fields: Partial<TransferProgress> = {}): TransferProgress => ({
  phase: 'moving',
  bytes,
  total: 100 * MiB,
  parts: Math.floor(bytes / (10 * MiB)),
  totalParts: 10,
  resumedParts: 0,
  ...fields,
})

test('the rate counts the bytes of this run, and the remaining time follows from it', () => {
  const { drawn, progress, after } = shown(1)
  const { onProgress } = progress.of('a')
  const resumed = { resumedParts: 4 }
  onProgress(moving(40 * MiB, resumed))
  after(1000)
  onProgress(moving(50 * MiB, resumed))
  progress.done()
  expect(drawn).toEqual([
    '\ruploaded 40 MiB of 100 MiB, 0 bytes/s, part 4 of 10 (4 resumed)\u001b[K',
    '\ruploaded 50 MiB of 100 MiB, 10 MiB/s, 5 s left, part 5 of 10 (4 resumed)\u001b[K',
    '\r\u001b[K',
  ])
})

test('the line is cleared before any other output, on either stream', () => {
  const { drawn, progress, io, after } = shown(1)
  const { onProgress } = progress.of('a')
  onProgress(moving(MiB))
  io.err('offered\n')
  after(1000)
  onProgress(moving(2 * MiB))
  io.out('uploaded\n')
  io.err('hint\n')
  const gone = '\r\u001b[K'
  expect(drawn.map((text) => (text.startsWith('\ruploaded') ? 'line' : text))).toEqual([
    ...['line', gone, 'offered\n'],
    ...['line', gone, 'uploaded\n', 'hint\n'],
  ])
})

test('the steps before and after the transfer are shown too, each with its own rate', () => {
  const { drawn, progress, after } = shown(1)
  const { onProgress } = progress.of('a')
  const none = { parts: 0, totalParts: 0 }
  onProgress(moving(0, { phase: 'reading', ...none }))
  after(500)
  onProgress(moving(50 * MiB, { phase: 'reading', ...none }))
  after(500)
  onProgress(moving(0))
  onProgress(moving(100 * MiB, { phase: 'checking' }))
  expect(drawn.slice(1).map((line) => line.slice(1, -3))).toEqual([
    'reading 50 MiB of 100 MiB, 100 MiB/s, 1 s left',
    'uploaded 0 bytes of 100 MiB, 0 bytes/s, part 0 of 10',
    'uploaded 100 MiB, checking the whole file',
  ])
})

test('the line is drawn at most four times per second, and fits the terminal', () => {
  const { drawn, progress, after } = shown(1, { columns: 20 })
  const { onProgress } = progress.of('a')
  for (let index = 0; index < 100; index += 1) {
    onProgress(moving(index * MiB, { parts: 0 }))
    after(10)
  }
  expect(drawn).toHaveLength(4)
  expect(Math.max(...drawn.map((line) => line.length))).toBe('\r'.length + 19 + '\u001b[K'.length)
})

test('several files share one line on a terminal, and have separate lines for a program', () => {
  const both = (context: ReturnType<typeof shown>) => {
    context.progress.of('a').onProgress(moving(30 * MiB))
    context.progress.of('b').onProgress(moving(100 * MiB, { phase: 'reading', parts: 0, totalParts: 0 }))
    context.after(1000)
    context.progress.of('b').onProgress(moving(20 * MiB))
    return context.drawn
  }
  expect(both(shown(2)).at(-1)).toMatch(/uploaded 50 MiB of 200 MiB, .*part 5 of 20/)
  const lines = both(shown(2, { json: true })).map((line) => JSON.parse(line))
  expect(lines.map(({ file, progress: { phase } }) => [file, phase])).toEqual([
    ['a', 'moving'],
    ['b', 'reading'],
    ['b', 'moving'],
  ])
})

test('without a terminal no line is drawn', () => {
  const { drawn, progress } = shown(1, { terminal: false })
  progress.of('a').onProgress(moving(MiB))
  progress.done()
  expect(drawn).toEqual([])
})
