/** `bridge helper manifest`, and the helper called through the command tree. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startsHelper } from '../../cli/startup/starts-helper.ts'
import { parseManifest } from '../../sdk/contract/helper/manifest.ts'
import { manifestOf, sha256 } from '../helper/files.ts'
import { runHere } from './frame.ts'

let folder: string
let file: string
const bytes = randomBytes(2500)
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'helper-cli-'))
  file = join(folder, 'report.pdf')
  writeFileSync(file, bytes)
})
afterAll(() => rmSync(folder, { recursive: true }))

const manifest = (...more: string[]) => runHere(['helper', 'manifest', file, '--mode', 'upload', ...more])
const written = (path = `${file}.manifest.json`) => {
  const text = readFileSync(path, 'utf8')
  return { text, parsed: parseManifest(text), mode: statSync(path).mode & 0o777 }
}

test('helper manifest writes a manifest for this user only, and prints its digest', async () => {
  const { code, stdout } = await manifest('--part-size', '1000')
  const { text, parsed, mode } = written()
  expect({ code, stdout, mode }).toEqual({ code: 0, stdout: `${sha256(text)}\n`, mode: 0o600 })
  const transferId = 'transfer_id' in parsed ? parsed.transfer_id : ''
  expect(parsed).toEqual(
    manifestOf(bytes, { mode: 'upload', partSize: 1000, transferId, filename: 'report.pdf' }),
  )
})

test('helper manifest uses a new transfer id each time, unless one is given to resume', async () => {
  const idOf = async (...more: string[]): Promise<unknown> => {
    expect((await manifest(...more)).code).toBe(0)
    const { parsed } = written()
    return 'transfer_id' in parsed && parsed.transfer_id
  }
  const first = String(await idOf())
  expect(await idOf()).not.toBe(first)
  expect(await idOf('--transfer-id', first)).toBe(first)
})

test('helper manifest --json prints the written manifest', async () => {
  const out = join(folder, 'm.json')
  const { stdout } = await manifest('--json', '--out', out)
  expect(JSON.parse(stdout)).toMatchObject({
    manifest: out,
    digest: sha256(written(out).text),
    size: 2500,
    parts: 1,
  })
})

test('helper manifest refuses a file that it cannot describe, and overwrites nothing but a manifest', async () => {
  const code = async (...args: string[]) => (await runHere(['helper', 'manifest', ...args])).code
  expect(await code(file)).toBe(2)
  expect(await code(file, '--mode', 'both')).toBe(2)
  expect(await code(folder, '--mode', 'upload', '--out', join(folder, 'x'))).toBe(2)
  expect(await code(file, '--mode', 'upload', '--name', 'a/b')).toBe(2)
  expect(await code(file, '--mode', 'upload', '--part-size', '1')).toBe(2)
  expect(await code(join(folder, 'nothing'), '--mode', 'upload')).toBe(2)
  expect(await code(file, '--mode', 'upload', '--out', file)).toBe(7)
  expect(readFileSync(file).equals(bytes)).toBe(true)
})

test('the helper parses its own arguments, and its manifest and help are commands', async () => {
  expect(startsHelper(['helper', '--manifest', 'm'])).toBe(true)
  expect(startsHelper(['helper'])).toBe(true)
  for (const words of [
    ['helper', 'manifest', 'f'],
    ['helper', '--help'],
    ['helper', '-h'],
    ['send', 'helper'],
  ]) {
    expect([words, startsHelper(words)]).toEqual([words, false])
  }
  const { code, stdout, stderr } = await runHere(['--json', 'helper', '--manifest', 'm', '--root', 'r'])
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: '{"error":"invalid_token"}\n' })
})
