/**
 * Names that change while the helper works: it reads or writes nothing outside the root, and serves nothing
 * wrong.
 *
 * BRIDGE_RACES=100000 swaps that often.
 */
import { randomBytes } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Folder } from '../../sdk/parts/folder.ts'
import { Place } from './files.ts'
import { startWith } from './test-helper.ts'

const swaps = Number(process.env.BRIDGE_RACES ?? 500)

test(`during ${swaps} swaps of a name every read returns the file inside the root or a refusal`, {
  timeout: 300_000 + swaps * 2,
}, async () => {
  const place = new Place()
  const secret = join(place.folder, 'secret')
  writeFileSync(secret, 'outside')
  const folder = await Folder.open(place.root)
  const name = place.inRoot('payload.bin')
  const swap = [
    () => writeFileSync(`${name}.new`, 'inside'),
    () => symlinkSync(secret, `${name}.new`),
    () => linkSync(secret, `${name}.new`),
    () => mkdirSync(`${name}.new`),
  ]
  let reads = 0
  let refusals = 0
  const wrong: string[] = []
  // Timing decides whether a read finds the file or its replacement, so the loop runs until both occurred.
  const most = swaps * 100
  for (let round = 0; round < swaps || (round < most && (reads === 0 || refusals === 0)); round += 1) {
    const looking = folder.find('payload.bin', round % 2 === 0 ? 'read' : 'write').then(
      async (file) => {
        if (file === undefined) return
        const text = await file.readFile('utf8')
        if (text !== 'inside' && text !== '') wrong.push(text)
        reads += 1
        await file.close()
      },
      () => {
        refusals += 1
      },
    )
    rmSync(`${name}.new`, { recursive: true, force: true })
    swap[round % swap.length]?.()
    rmSync(name, { recursive: true, force: true })
    renameSync(`${name}.new`, name)
    await looking
  }
  expect(wrong).toEqual([])
  expect(reads).toBeGreaterThan(0)
  expect(refusals).toBeGreaterThan(0)
  expect(readFileSync(secret, 'utf8')).toBe('outside')
  await folder.close()
  place.remove()
})

test('if the root is swapped for another folder while names are created, all of them are in the opened root', async () => {
  const place = new Place()
  const folder = await Folder.open(place.root)
  const away = join(place.folder, 'away')
  const evil = join(place.folder, 'evil')
  mkdirSync(evil)
  for (let round = 0; round < Math.min(swaps, 2000); round += 1) {
    renameSync(place.root, away)
    renameSync(evil, place.root)
    const file = await folder.create('made')
    await file.close()
    expect(folder.link('made', 'linked')).toBe(true)
    expect(readdirSync(place.root)).toEqual([])
    renameSync(place.root, evil)
    renameSync(away, place.root)
    unlinkSync(place.inRoot('made'))
    unlinkSync(place.inRoot('linked'))
  }
  await folder.close()
  place.remove()
})

test('of two simultaneous finalizes one runs, and the other is refused or finds it done', async () => {
  const helper = await startWith(randomBytes(20_000_000), { mode: 'upload', partSize: 10_000_000 })
  await helper.putAll(0, 1)
  const answers = await Promise.all([helper.finalize(), helper.finalize(), helper.put(0)])
  const said = answers.map(({ status, error }) => error ?? status).sort()
  expect(said).toEqual([200, 'transfer_busy', 'transfer_busy'])
  expect((await helper.finalize()).status).toBe(200)
  await helper.close()
})
