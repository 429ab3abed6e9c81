/** Replacing the envelope key on the command line: the output and every exit code. Contract §12. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { dropDatabase, makeEmptyDatabase } from '../support/postgres.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  await makeEmptyDatabase(desk.folder)
})
afterAll(async () => {
  await dropDatabase(desk.folder)
  await desk.remove()
  await bridge.close()
})

const server = (...args: string[]) => desk.run(['server', ...args])

test('the envelope key is replaced beside a running server, and never shown', async () => {
  const path = join(bridge.data, 'envelope.key')
  const before = readFileSync(path, 'utf8').trim()
  const { code, stdout, stderr } = await server('rotate-key', '--data', bridge.data)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toBe(`${path} holds a new key; 0 secrets are sealed with it\n`)
  const after = readFileSync(path, 'utf8').trim()
  expect(after).not.toBe(before)
  expect(stdout).not.toContain(after)
  expect(await server('rotate-key', '--data', desk.folder)).toMatchObject({ code: 3 })
  rmSync(path)
  expect(await server('rotate-key', '--data', bridge.data)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--lost'),
  })
  expect(await server('rotate-key', '--data', bridge.data, '--lost')).toMatchObject({ code: 0 })
})
