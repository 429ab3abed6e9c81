/**
 * Text pasted on the terminal of a process that stands still meanwhile. A socket takes the place of the
 * terminal: like a terminal, the kernel keeps what arrives until the process reads it.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { createIo } from '../../cli/terminal/io.ts'

const quietMs = 300

let pasting: Socket
let stdin: Socket
let read: Promise<string>
let shown: PassThrough

/** Pastes `whole`, and calls `happens` as soon as the process has read it. */
async function paste(happens: () => void): Promise<void> {
  const listening = createServer().listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as { port: number }
  pasting = connect(port, '127.0.0.1')
  ;[stdin] = (await once(listening, 'connection')) as [Socket]
  listening.close()
  shown = new PassThrough({ encoding: 'utf8' })
  const io = createIo({ stdin, stdout: new PassThrough(), stderr: shown })
  read = io.readPasted('paste: ', { isWhole: (text) => text.includes('whole\n'), missing: 'more' })
  stdin.once('data', happens)
  pasting.write('whole\n')
  await once(stdin, 'data')
}
afterEach(async () => {
  pasting.destroy()
  stdin.destroy()
  await read.catch(() => {})
})

/** Holds the process for longer than the pause that ends a paste. */
const standStill = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, quietMs + 100)

test('what arrives while the process stands still belongs to the paste', async () => {
  await paste(() => {
    pasting.write('and the rest\n')
    standStill()
  })
  await expect(read).resolves.toBe('whole\nand the rest\n')
})

test('a process that stood still ends the paste if nothing more has arrived', async () => {
  await paste(standStill)
  await expect(read).resolves.toBe('whole\n')
})
