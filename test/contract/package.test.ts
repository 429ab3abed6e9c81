/** package.json, its lock file and the documents about them agree. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { version } from '../../sdk/version.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const declared: Readonly<Record<string, string>> = { ...manifest.dependencies, ...manifest.devDependencies }

interface Locked {
  readonly integrity?: string
  readonly resolved?: string
  readonly gypfile?: boolean
}
const lock: { version: string; packages: Record<string, Locked> } = JSON.parse(read('package-lock.json'))
const locked = lock.packages

test('sdk/version.ts has the version of package.json', () => {
  expect(version).toBe(manifest.version)
  expect(lock.version).toBe(manifest.version)
})

test('the oldest supported Node is the same in package.json, the launcher and the build', () => {
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(manifest.engines.node) ?? []
  expect(read('cli/launch.ts')).toContain(`{ major: ${major}, minor: ${minor} }`)
  expect(read('esbuild.config.ts')).toContain(`target: 'node${major}.${minor}'`)
})

test('the Node version for development is the same for npm and for version managers', () => {
  expect(read('.node-version').trim()).toBe(manifest.devDependencies.node)
})

test('versions are exact', () => {
  for (const [name, range] of Object.entries(declared)) expect(`${name} ${range}`).toMatch(/ \d+\.\d+\.\d+$/)
})

test('every dependency has its sentence in docs/decisions/002, and every sentence has its dependency', () => {
  const sentences = [...read('docs/decisions/002-dependencies.md').matchAll(/^- `([^`]+)`: \S/gm)]
  expect(sentences.map(([, name]) => name).sort()).toEqual(Object.keys(declared).sort())
})

test('files that scripts run exist', () => {
  const files = Object.values(manifest.scripts).flatMap(
    (script) => script.match(/[\w./-]+\.ts\b|\.ci\/\w+/g) ?? [],
  )
  expect(files.length).toBeGreaterThan(4)
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

describe('the lock file', () => {
  test('has a hash of every package for every platform, and names no host', () => {
    const packages = Object.entries(locked).filter(([path]) => path !== '')
    expect(packages.filter(([, { integrity }]) => integrity === undefined)).toEqual([])
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  })

  test('keeps npm 10 from compiling better-sqlite3, which contains its binaries', () => {
    const repair =
      'add "gypfile": false to node_modules/better-sqlite3 in package-lock.json; npm install drops it'
    expect(locked['node_modules/better-sqlite3']?.gypfile, repair).toBe(false)
  })
})

describe('no text installs the package from a registry', () => {
  // The name on a registry may belong to another package. A clone, or the file that `npm pack` makes in one,
  // is reliable.
  const promise =
    /\bnpm (?:install|i|add|pack|exec)\b[^\n`]*?\sagent-bridge(?![-./\w])|\bnpx (?:--?\S+ )*agent-bridge\b/
  const texts = globSync(['README.md', '{.github,cli,docs,examples,sdk,server}/**/*'], {
    cwd: root,
  })

  test('in the documents, the examples and the sources', () => {
    const files = texts.filter((path) => statSync(join(root, path)).isFile())
    expect(files.length).toBeGreaterThan(300)
    expect(files.filter((path) => promise.test(read(path)))).toEqual([])
    const named = files.flatMap((path) => read(path).match(/agent-bridge-\d[\w.]*\.tgz/g) ?? [])
    expect([...new Set(named)]).toEqual([`agent-bridge-${manifest.version}.tgz`])
  })

  test('and a text that does is found', () => {
    expect(' *   npm install agent-bridge').toMatch(promise)
    expect('#   npm install --global agent-bridge').toMatch(promise)
    expect('npx --yes agent-bridge up').toMatch(promise)
    expect('npm install ./agent-bridge-0.1.0.tgz').not.toMatch(promise)
  })
})
