/** All open streams of a process, at its stop. */
import { expect, test } from 'vitest'
import { createStreams } from '../../../server/delivery/streams.ts'

test('a stream that opens while the server stops is stopped too, once it is open', async () => {
  const streams = createStreams(() => 0)
  const steps: string[] = []
  const open = (name: string) => {
    const remove = streams.add({ tick() {}, stop: () => steps.push(`${name} stops`) })
    steps.push(`${name} is open`)
    return remove
  }
  const remove = open('one')
  streams.stop()
  open('another')
  expect(steps).toEqual(['one is open', 'one stops', 'another is open'])
  await Promise.resolve()
  expect(steps.at(-1)).toBe('another stops')
  remove()
  expect(streams.size).toBe(1)
})
