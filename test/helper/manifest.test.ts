/** The manifest with which the helper starts: its fields, its file name, its file. Spec §4. */
import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startErrorOf, startHelper } from '../../helper/main.ts'
import { emptySha256, manifestText } from '../../sdk/contract/helper/manifest.ts'
import { PartStore } from '../../sdk/parts/part-store.ts'
import { badNames, goodNames } from '../support/file-names.ts'
import { freshToken, manifestOf, Place } from './files.ts'

const bytes = randomBytes(2500)
const manifest = manifestOf(bytes, { mode: 'download' })
let place: Place
let path: string

beforeAll(() => {
  place = new Place()
  path = place.manifest(manifest)
  writeFileSync(place.inRoot('payload.bin'), bytes)
})
afterAll(() => place.remove())

describe('a manifest', () => {
  const startWithText = async (
    text: string | Buffer,
    more: { maxBytes?: number; mode?: number } = {},
  ): Promise<string> => {
    const file = join(place.folder, 'tried.json')
    rmSync(file, { force: true })
    writeFileSync(file, text)
    chmodSync(file, more.mode ?? 0o600)
    return startCode(file, more.maxBytes)
  }
  const startCode = async (file: string, maxBytes = 1024 ** 3): Promise<string> => {
    const options = {
      manifest: file,
      root: place.root,
      port: 0,
      ttlSeconds: 60,
      maxBytes,
      token: freshToken(),
    }
    try {
      await (await startHelper(options)).stop()
      return 'fine'
    } catch (error) {
      return startErrorOf(error)
    }
  }
  const changed = (change: object): string => JSON.stringify({ ...manifest, ...change })
  const parts = (change: object, index = 0): string =>
    changed({ parts: manifest.parts.map((part) => (part.index === index ? { ...part, ...change } : part)) })

  test('that is correct is accepted', async () => {
    expect(await startWithText(manifestText(manifest))).toBe('fine')
    expect(await startWithText(JSON.stringify(manifest, null, 2), { mode: 0o644 })).toBe('fine')
  })

  test.each([
    ['no JSON', 'hello'],
    ['empty', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['a byte order mark', `\ufeff${manifestText(manifest)}`],
    ['another version', changed({ version: '2' })],
    ['a number as version', changed({ version: 1 })],
    ['an unknown field', changed({ token: 'x' })],
    ['a field of the prototype', manifestText(manifest).replace('{', '{"__proto__":{},')],
    ['a missing field', changed({ size: undefined })],
    ['a field twice', manifestText(manifest).replace('"version":"1"', '"version":"1","version":"1"')],
    ['a field of a part twice', manifestText(manifest).replace('"index":0', '"index":0,"index":0')],
    ['another mode', changed({ mode: 'both' })],
    ['an id with a slash', changed({ transfer_id: '../x' })],
    ['an empty id', changed({ transfer_id: '' })],
    ['an id of 129', changed({ transfer_id: 'a'.repeat(129) })],
    ['an id that is not ASCII', changed({ transfer_id: 'é' })],
    ['a negative size', changed({ size: -1 })],
    ['a fraction', changed({ size: 2500.5 })],
    ['a size as text', changed({ size: '2500' })],
    ['a size beyond integers', manifestText(manifest).replace('"size":2500,', '"size":9007199254740993,')],
    ['a short hash', changed({ sha256: 'ab' })],
    ['no parts', changed({ parts: [] })],
    ['parts as an object', changed({ parts: {} })],
    [
      '1,025 parts',
      changed({ parts: Array.from({ length: 1025 }, (_, index) => ({ ...manifest.parts[0], index })) }),
    ],
    ['a gap', parts({ offset: 1001 }, 1)],
    ['an overlap', parts({ offset: 999 }, 1)],
    ['a wrong index', parts({ index: 2 }, 1)],
    [
      'a part beyond 96 MiB',
      changed({ size: 96 * 1024 ** 2 + 1, parts: [{ ...manifest.parts[0], size: 96 * 1024 ** 2 + 1 }] }),
    ],
    [
      'an empty part of a file that is not empty',
      changed({ size: 0, parts: [{ ...manifest.parts[0], size: 0 }] }),
    ],
    [
      'an empty file of two empty parts',
      changed({
        size: 0,
        sha256: emptySha256,
        parts: [0, 1].map((index) => ({ index, offset: 0, size: 0, sha256: emptySha256 })),
      }),
    ],
    [
      'an empty part after the last',
      changed({
        parts: [...manifest.parts, { index: 3, offset: 2500, size: 0, sha256: emptySha256 }],
      }),
    ],
    ['an unknown field in a part', parts({ name: 'x' })],
    ['a sum that is not the size', changed({ size: 2501 })],
  ])('with %s is invalid', async (_name, text) => {
    expect(await startWithText(text)).toBe('manifest_invalid')
  })

  test.each([...badNames, ...Object.values(PartStore.namesOf('one'))].map((name) => [name]))(
    'with the file name %j is invalid',
    async (filename) => {
      expect(await startWithText(changed({ filename }))).toBe('manifest_invalid')
    },
  )

  test.each(goodNames.map((name) => [name]))('with the file name %j is valid', async (filename) => {
    expect(await startWithText(changed({ filename }))).toBe('file_missing')
  })

  test('that is not UTF-8 is invalid', async () => {
    expect(await startWithText(Buffer.from([0x7b, 0xff, 0x7d]))).toBe('manifest_invalid')
  })

  test('of more than 1 MiB is refused as too large without being read', async () => {
    expect(await startWithText(`${manifestText(manifest)}${' '.repeat(1024 ** 2)}`)).toBe(
      'manifest_too_large',
    )
  })

  test('of a file beyond --max-bytes is refused as too large', async () => {
    expect(await startWithText(manifestText(manifest), { maxBytes: 2499 })).toBe('file_too_large')
    expect(await startWithText(manifestText(manifest), { maxBytes: 2500 })).toBe('fine')
  })

  test('that others may write, a link, a second name, a folder or a missing file is unreadable', async () => {
    expect(await startWithText(manifestText(manifest), { mode: 0o644 })).toBe('fine')
    for (const mode of [0o666, 0o602, 0o620])
      expect(await startWithText(manifestText(manifest), { mode })).toBe('manifest_unreadable')
    const link = join(place.folder, 'link.json')
    symlinkSync(path, link)
    expect(await startCode(link)).toBe('manifest_unreadable')
    const twin = join(place.folder, 'twin.json')
    linkSync(path, twin)
    expect(await startCode(twin)).toBe('manifest_unreadable')
    rmSync(twin)
    expect(await startCode(place.root)).toBe('manifest_unreadable')
    expect(await startCode(join(place.folder, 'nothing'))).toBe('manifest_unreadable')
  })
})
