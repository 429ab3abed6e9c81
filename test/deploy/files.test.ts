/**
 * The files of examples/deploy, checked without the programs that read them, and with those that are
 * installed. `compose.test.ts` checks the Compose files further.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
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
    'haproxy-nodes.cfg',
    'agent-bridge.service',
    'Containerfile',
    'compose.yaml',
    'compose-nodes.yaml',
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
