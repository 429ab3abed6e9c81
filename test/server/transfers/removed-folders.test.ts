/** Folders of packages are renamed first and freed later. Contract §9 "bytes removed". */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRemovedFolders } from '../../../server/package-store/folder/removed-folders.ts'

test('of two callers that remove the same package none is told that it is gone before it is', async () => {
  const root = await mkdtemp(join(tmpdir(), 'bridge-removed-'))
  onTestFinished(() => rm(root, { recursive: true }))
  await mkdir(join(root, 'one'))
  await writeFile(join(root, 'one', 'part'), 'bytes')
  const folders = createRemovedFolders(root)
  const [first, second] = [await folders.detach('one'), await folders.detach('one')]
  await second.gone
  expect(await readdir(root)).toEqual([])
  await first.gone
  await (await folders.detach('one')).gone
  await folders.settled()
})
