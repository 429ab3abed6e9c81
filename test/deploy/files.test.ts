/**
 * The files of examples/deploy, checked without the programs that read them, and with those that are
 * installed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { settings } from '../../server/settings.ts'
import { lintContainerfile } from './containerfile.ts'

const path = (name: string) => fileURLToPath(new URL(`../../examples/deploy/${name}`, import.meta.url))
const read = (name: string) => readFileSync(path(name), 'utf8')
const variables = new Set<string>(['BRIDGE_DATA', ...settings.map(({ env }) => env)])
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test('the files name existing settings only', () => {
  for (const name of [
    'nginx.conf',
    'Caddyfile',
    'haproxy.cfg',
    'agent-bridge.service',
    'Containerfile',
    'compose.yaml',
  ]) {
    const named = read(name).match(/\bBRIDGE_[A-Z_]+/g) ?? []
    expect([name, named.filter((each) => !variables.has(each))]).toEqual([name, []])
    const flags = read(name).match(/(?<=bridge server start.*)--[a-z-]+/g) ?? []
    const known = new Set<string>(settings.map((each) => `--${each.name.replaceAll('_', '-')}`))
    expect([name, flags.filter((each) => !known.has(each))]).toEqual([name, []])
  }
})

test.runIf(hasSystemd)('systemd finds no fault in the unit', () => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', path('agent-bridge.service')], {
    encoding: 'utf8',
  })
  const own = stderr.split('\n').filter((line) => line.includes('agent-bridge.service'))
  expect([status, own]).toEqual([0, []])
})

test.runIf(hasSystemd)('the unit has a low exposure level', () => {
  const { stdout } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', path('agent-bridge.service')],
    {
      encoding: 'utf8',
    },
  )
  const [, level = ''] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? []
  expect(Number(level)).toBeGreaterThan(0)
  expect(Number(level)).toBeLessThan(2.5)
})

test('the file of Compose is whole: each secret, volume and service that it names exists', () => {
  const file = parse(read('compose.yaml')) as Compose
  const { services, secrets, volumes } = file
  expect(Object.keys(services)).toEqual(['postgres', 'bridge'])
  for (const service of Object.values(services)) {
    for (const secret of service.secrets) expect(secrets[secret]?.file).toMatch(/^\.\/secrets\//)
    for (const volume of service.volumes) expect(Object.keys(volumes)).toContain(volume.split(':')[0])
    for (const name of Object.keys(service.depends_on ?? {})) expect(services[name]?.healthcheck).toBeTruthy()
    const files = Object.values(service.environment).filter((value) => value.startsWith('/run/secrets/'))
    expect(files).toEqual(service.secrets.map((secret) => `/run/secrets/${secret}`))
  }
  expect(services.bridge?.environment).toHaveProperty('BRIDGE_DATABASE_URL_FILE')
  // No secret is in the file itself.
  expect(read('compose.yaml')).not.toMatch(/^ +[A-Z_]*PASSWORD:/m)
})

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly volumes: Readonly<Record<string, null>>
}

interface Service {
  readonly environment: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
  readonly volumes: readonly string[]
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly healthcheck?: unknown
}

describe('the Containerfile', () => {
  test('has no fault', () => {
    expect(lintContainerfile(read('Containerfile'))).toEqual([])
  })

  test('builds on the Node version for development', () => {
    expect(read('Containerfile')).toContain(`FROM docker.io/library/node:${manifest.devDependencies.node}-`)
  })

  const good = read('Containerfile')
  test.each<[string, string, RegExp]>([
    ['an unknown instruction', `${good}\nRUNN true\n`, /Unknown instruction: RUNN/],
    ['no user', good.replace('USER node\n', ''), /runs as root/],
    ['root as the last user', `${good}\nUSER root\n`, /runs as root/],
    ['an image without a version', good.replace(/:24[^\s]*/, ''), /image without a version/],
    ['the newest image', good.replace(/:24[^\s]*/, ':latest'), /image without a version/],
    ['no health check', good.replace(/^HEALTHCHECK.*$/m, ''), /no HEALTHCHECK/],
    ['no volume', good.replace(/^VOLUME.*$/m, ''), /no VOLUME/],
    [
      'a start that gets no signals',
      good.replace(/^ENTRYPOINT.*$/m, 'ENTRYPOINT bridge server start'),
      /exec form/,
    ],
    ['a file from the network', `${good}\nADD https://example.test/x /x\n`, /ADD/],
    ['a secret', `${good}\nENV BRIDGE_TOKEN=abc\n`, /secret/],
  ])('is refused with %s', (_name, text, fault) => {
    expect(lintContainerfile(text).join('\n')).toMatch(fault)
  })
})
