/** The public index: the cost of importing it, its version and its exports. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import * as publicIndex from '../../sdk/index.ts'
import { version } from '../../sdk/version.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

test('the version is the one of the package', async () => {
  const { version: published } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as {
    version: string
  }
  expect(version).toBe(published)
})

test('importing the public index loads no heavy module', async () => {
  const script = `
    import { registerHooks } from 'node:module'
    const packages = new Set()
    registerHooks({ load: (url, context, next) => {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]
      if (name !== undefined) packages.add(name)
      return next(url, context)
    } })
    await import('./sdk/index.ts')
    console.log(JSON.stringify([...packages]))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
  })
  expect(JSON.parse(stdout)).toEqual(['typebox'])
})

test('the public index exports these values and no others', () => {
  expect(Object.keys(publicIndex).sort()).toEqual([
    'Bridge',
    'BridgeError',
    'HelperError',
    'Identity',
    'LocalError',
    'NoAnswer',
    'Outbox',
    'Owner',
    'TaskFailedError',
    'TaskUnfinished',
    'WorkStoppedError',
    'enroll',
    'errors',
    'exportPrivateKey',
    'fenced',
    'fingerprint',
    'generateKeyPair',
    'importPrivateKey',
    'isOutcomeUnknown',
    'limits',
    'neutralize',
    'newAgeKey',
    'nodeStatus',
    'openProfile',
    'openSealedText',
    'reportHost',
    'sealText',
  ])
})
