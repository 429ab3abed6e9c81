/**
 * Settings from flags, environment and file, in that order. An invalid setting is refused with its name and
 * its valid values.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../server/config.ts'
import { ConfigError } from '../../server/config-error.ts'
import { latestUrlOf } from '../../server/database-url.ts'
import { settings } from '../../server/settings.ts'

const data = mkdtempSync(join(tmpdir(), 'bridge-config-'))
afterAll(() => rmSync(data, { recursive: true, force: true }))

test('a flag overrides the environment, which overrides the file, which overrides the default', () => {
  expect(readConfig({ data }, {}).port).toBe(8484)
  writeFileSync(join(data, 'config.json'), '{ "port": 1001 }')
  expect(readConfig({ data }, {}).port).toBe(1001)
  expect(readConfig({ data }, { BRIDGE_PORT: '1002' }).port).toBe(1002)
  expect(readConfig({ data, port: '1003' }, { BRIDGE_PORT: '1002' }).port).toBe(1003)
  rmSync(join(data, 'config.json'))
})

describe('the node refuses, by name', () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    ['a port out of range', { port: '70000' }, /port must be a whole number from 0 to 65535/],
    ['a port with letters', { port: '80a' }, /port must be a whole number/],
    [
      'an origin with a path',
      { portal_origin: 'https://bridge.example/x' },
      /portal_origin must be an https origin/,
    ],
    [
      'an origin without a scheme',
      { portal_origin: 'bridge.example' },
      /portal_origin must be an https origin/,
    ],
    ['plain http beyond loopback', { portal_origin: 'http://bridge.example' }, /http only on loopback/],
    ['metrics beyond loopback', { metrics_host: '0.0.0.0' }, /metrics_host must be a loopback address/],
    [
      'merging neither on nor off',
      { merge_statements: 'yes' },
      /merge_statements must be on or off, not "yes"/,
    ],
    [
      'packages in no bucket',
      { packages: 's3:/agents' },
      /packages must be folder, or a bucket .*, not "s3:\/agents"/,
    ],
    [
      'packages with a key, without showing it',
      { packages: 's3://key:secret@agents/bridge' },
      /^(?!.*secret)packages must be .*, not "s3:\/\/…@agents\/bridge"/,
    ],
    [
      'packages with a secret that contains a slash, without showing it',
      { packages: 's3://key:a/secret/b@agents/bridge' },
      /^(?!.*(key|secret))packages must be .*, not "s3:\/\/…@agents\/bridge"/,
    ],
    [
      'an object store with a key, without showing it',
      { packages: 's3://agents', packages_endpoint: 'https://key:a/secret@objects.example' },
      /^(?!.*(key:|secret))packages_endpoint must be .*, not "https:\/\/…@objects.example"/,
    ],
    [
      'an object store with a path',
      { packages: 's3://agents', packages_endpoint: 'https://objects.example/x' },
      /packages_endpoint must be an origin .*, not "https:\/\/objects.example\/x"/,
    ],
    ['an invalid port of metrics', { metrics_port: 'x' }, /metrics_port must be a whole number/],
    ['an unknown log level', { log_level: 'loud' }, /log_level must be one of/],
  ]
  test.each(cases)('%s', (_name, flags, message) => {
    expect(() => readConfig({ data, ...flags }, {})).toThrow(message)
    expect(() => readConfig({ data, ...flags }, {})).toThrow(ConfigError)
  })

  test.each([
    ['no JSON', '{', /is not valid JSON/],
    ['no object', '[]', /must contain one JSON object/],
    ['an unknown setting', '{ "prot": 1 }', /unknown setting prot; known settings: host, port/],
  ])('a file with %s', (_name, text, message) => {
    writeFileSync(join(data, 'config.json'), text)
    expect(() => readConfig({ data }, {})).toThrow(message)
    rmSync(join(data, 'config.json'))
  })
})

test('a file setting is relative to the working folder, and inside the settings file to the folder of that file', () => {
  expect(readConfig({ data, envelope_key_file: 'a.key' }, {}).envelopeKeyFile).toBe(resolve('a.key'))
  expect(readConfig({ data }, { BRIDGE_ENVELOPE_KEY_FILE: 'b.key' }).envelopeKeyFile).toBe(resolve('b.key'))
  writeFileSync(join(data, 'config.json'), '{ "envelope_key_file": "c.key" }')
  expect(readConfig({ data }, {}).envelopeKeyFile).toBe(join(data, 'c.key'))
  rmSync(join(data, 'config.json'))
})

test('by default one sender may use a quarter of the package space, and at least one package of the largest size', () => {
  const { packagesBytes, senderPackagesBytes } = readConfig({ data }, {})
  expect(senderPackagesBytes).toBe(packagesBytes / 4)
  const sizes = { package_bytes: '100', packages_bytes: '200' }
  expect(readConfig({ data, ...sizes }, {}).senderPackagesBytes).toBe(100)
  expect(readConfig({ data, ...sizes, sender_packages_bytes: '0' }, {}).senderPackagesBytes).toBe(0)
  expect(() => readConfig({ data, sender_packages_bytes: 'half' }, {})).toThrow('sender_packages_bytes')
})

test('an origin is accepted with TLS on any host, and without TLS on this machine only', () => {
  for (const portal_origin of [
    'https://bridge.example',
    'http://127.0.0.1:8484',
    'http://localhost:1',
    'http://[::1]:2',
  ]) {
    expect(readConfig({ data, portal_origin }, {}).portalOrigin).toBe(portal_origin)
  }
})

test('every setting has a unique name, a unique variable and a description', () => {
  expect(new Set(settings.map(({ name }) => name)).size).toBe(settings.length)
  expect(new Set(settings.map(({ env }) => env)).size).toBe(settings.length)
  for (const { env, meaning } of settings)
    expect([env.startsWith('BRIDGE_'), meaning.length > 0]).toEqual([true, true])
})

describe('the database', () => {
  const of = (flags: Record<string, string>, env: Record<string, string> = {}) =>
    readConfig({ data: '/nowhere', ...flags }, env).databaseUrl

  test('is SQLite unless a URL is given, which the environment may hold with a password', () => {
    expect(of({})).toBeUndefined()
    expect(of({ database: 'postgres://bridge@localhost/bridge' })).toBe('postgres://bridge@localhost/bridge')
    const secret = 'postgres://bridge:secret@127.0.0.1/bridge'
    expect(of({}, { BRIDGE_DATABASE_URL: secret })).toBe(secret)
  })

  test.each(['bridge:secret@localhost/bridge', 'bridge@localhost/bridge?password=secret'])(
    'a password in a flag or in config.json is refused, and is not in the message: %s',
    (behind) => {
      const database = `postgres://${behind}`
      const given = () => of({ database })
      expect(given).toThrow('must not contain a password')
      expect(given).not.toThrow('secret')
      writeFileSync(join(data, 'config.json'), JSON.stringify({ database }))
      onTestFinished(() => rmSync(join(data, 'config.json')))
      expect(() => readConfig({ data }, {})).toThrow('must not contain a password')
      expect(of({}, { BRIDGE_DATABASE_URL: database })).toBe(database)
    },
  )

  test('a database of another machine is verified by TLS, unless the URL turns TLS off', () => {
    expect(of({ database: 'postgres://bridge@db.example/bridge' })).toBe(
      'postgres://bridge@db.example/bridge?sslmode=verify-full',
    )
    const off = 'postgres://bridge@db.example/bridge?sslmode=disable'
    expect(of({ database: off })).toBe(off)
    for (const mode of ['require', 'verify-full&sslmode=require'])
      expect(() => of({ database: `postgres://bridge@db.example/bridge?sslmode=${mode}` })).toThrow(
        'verify-full',
      )
    const last = 'postgres://bridge@db.example/bridge?sslmode=require&sslmode=verify-full'
    expect(of({ database: last })).toBe(last)
    expect(of({ database: 'postgres://bridge@db.example/bridge?sslmode=disable&sslmode=' })).toBe(
      'postgres://bridge@db.example/bridge?sslmode=verify-full',
    )
  })

  test.each([
    ['db.example', '?sslmode=verify-full'],
    ['/run/postgresql', ''],
    ['127.0.0.1', ''],
    ['', ''],
  ])('the host %j of PGHOST decides about TLS if the URL has none', (host, added) => {
    const env = { PGHOST: host }
    expect(of({ database: 'postgres:///bridge' }, env)).toBe(`postgres:///bridge${added}`)
    expect(of({ database: 'postgres://localhost/bridge' }, env)).toBe('postgres://localhost/bridge')
    const file = join(data, 'url')
    writeFileSync(file, 'postgres:///bridge\n')
    onTestFinished(() => rmSync(file))
    expect(latestUrlOf(file, '', host)()).toBe(`postgres:///bridge${added}`)
  })

  test.each([
    ['localhost/bridge?host=db.example', '&sslmode=verify-full'],
    ['/bridge?host=/run/postgresql&host=127.db.example', '&sslmode=verify-full'],
    ['db.example/bridge?host=', '&sslmode=verify-full'],
    ['db.example/bridge?host=127.0.0.1', ''],
    ['db.example/bridge?host=/run/postgresql', ''],
    ['%2Frun%2Fpostgresql/bridge', ''],
    ['[::1]/bridge', ''],
  ])('the host that the driver takes decides about TLS: %s', (behind, added) => {
    const found = of({ database: `postgres://${behind}` })
    expect(decodeURIComponent(found ?? '')).toBe(`postgres://${decodeURIComponent(behind)}${added}`)
  })

  test.each(['mysql://localhost/bridge', 'bridge.db', 'postgres'])('%s is refused', (database) => {
    expect(() => of({ database })).toThrow('must be a URL such as postgres://')
  })

  test('a URL and a file with one exclude each other, and a missing file is named', () => {
    const file = { database_url_file: '/nowhere/url' }
    expect(() => of(file)).toThrow('/nowhere/url')
    expect(() => of({ ...file, database: 'postgres://localhost/bridge' })).toThrow('exclude each other')
  })

  test('has a direct way with the same rules, whose messages name its own settings', () => {
    const listen = (flags: Record<string, string>, env: Record<string, string> = {}) =>
      readConfig({ data: '/nowhere', ...flags }, env).databaseListen
    expect(listen({ database: 'postgres://localhost/bridge' })).toBeUndefined()
    const secret = 'postgres://bridge:secret@127.0.0.1/bridge'
    expect(listen({}, { BRIDGE_DATABASE_LISTEN_URL: secret })).toEqual({ url: secret, file: undefined })
    expect(() => listen({ database_listen_url: secret })).toThrow('BRIDGE_DATABASE_LISTEN_URL')
    expect(() => listen({ database_listen_url: 'bridge.db' })).toThrow('database_listen_url must be a URL')
    expect(() => listen({ database_listen_url_file: '/nowhere/direct' })).toThrow('/nowhere/direct')
    const both = {
      database_listen_url: 'postgres://localhost/bridge',
      database_listen_url_file: '/nowhere/url',
    }
    expect(() => listen(both)).toThrow('database_listen_url and database_listen_url_file exclude each other')
  })
})
