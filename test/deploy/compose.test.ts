/**
 * The Compose files of examples/deploy, checked without a container engine: every part that they name exists,
 * a node starts with the settings that they give it, and other machines reach no port of theirs.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../server/config.ts'

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: { readonly default: { readonly ipam: { readonly config: readonly Subnet[] } } }
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly volumes: Readonly<Record<string, null>>
}

interface Subnet {
  readonly subnet: string
  readonly gateway?: string
}

interface Service {
  readonly build?: unknown
  readonly image?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly env_file?: string
  readonly ports?: readonly string[]
  readonly secrets?: readonly string[]
  readonly volumes?: readonly string[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: unknown
}

const read = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../examples/deploy/${name}`, import.meta.url)), 'utf8')
const compose = (text: string) => parse(text, { merge: true }) as Compose

/** Settings of the image, which a service inherits. */
const ofImage = Object.fromEntries(
  [...read('Containerfile').matchAll(/\b(BRIDGE_[A-Z_]+)=(\S+)(?= \\\n|\n)/g)].map(([, name, value]) => [
    name,
    value,
  ]),
) as Readonly<Record<string, string>>

/** Reads the settings of a node as its container would; each secret is a file of a temporary folder. */
function configOf({ environment = {} }: Service) {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-compose-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'url'), 'postgres://agents:secret@postgres/agents?sslmode=disable\n')
  writeFileSync(join(folder, 'objects'), '[default]\naws_access_key_id = a\naws_secret_access_key = b\n')
  const given = Object.entries({ ...ofImage, ...environment }).map(
    ([name, value]) => [name, value.replace('/run/secrets', folder)] as const,
  )
  return readConfig({}, Object.fromEntries(given))
}

/** Names each published port that other machines reach. */
const exposedPorts = ({ services }: Compose): string[] =>
  Object.values(services)
    .flatMap(({ ports = [] }) => ports)
    .filter((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port))

describe.each([
  ['compose.yaml', ['postgres', 'bridge']],
  ['compose-nodes.yaml', ['haproxy', 'node-a', 'node-b', 'node-c', 'postgres', 'objects']],
])('%s', (name, expected) => {
  const text = read(name)
  const whole = compose(text)
  const { services, secrets, volumes, networks } = whole
  const nodes = Object.values(services).filter(({ build }) => build !== undefined)

  test('is whole: each secret, volume, file and service that it names exists', () => {
    expect(Object.keys(services)).toEqual(expected)
    for (const service of Object.values(services)) {
      const { secrets: own = [], volumes: places = [], environment = {}, depends_on = {} } = service
      for (const secret of own) expect(secrets[secret]?.file).toMatch(/^\.\/secrets\//)
      const mounted = places.map((place) => place.split(':')[0] ?? '')
      for (const from of mounted)
        if (from.startsWith('./')) expect(read(from)).not.toBe('')
        else expect(Object.keys(volumes)).toContain(from)
      const others = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)
      expect(Object.keys(services)).toEqual(expect.arrayContaining(others))
      for (const [other, { condition }] of Array.isArray(depends_on) ? [] : Object.entries(depends_on))
        if (condition === 'service_healthy') expect(services[other]?.healthcheck).toBeTruthy()
      const configured = mounted.filter((from) => from.startsWith('./')).map(read)
      const words = [...Object.values(environment), ...configured].join('\n')
      const used = words.match(/\/run\/secrets\/\w+/g) ?? []
      expect(used).toEqual(own.map((secret) => `/run/secrets/${secret}`))
    }
  })

  test('gives each node the database and a data folder of its own, and contains no secret', () => {
    expect(nodes.length).toBeGreaterThan(0)
    for (const { environment } of nodes) expect(environment).toHaveProperty('BRIDGE_DATABASE_URL_FILE')
    expect(new Set(nodes.flatMap((node) => node.volumes ?? [])).size).toBe(nodes.length)
    expect(text).not.toMatch(/^ +[A-Z_]*(PASSWORD|SECRET_ACCESS_KEY):/m)
  })

  test('its heading creates every secret', () => {
    const heading = text.slice(0, text.indexOf('\nname:'))
    const files = Object.values(secrets).map(({ file }) => file)
    for (const { env_file } of Object.values(services)) if (env_file !== undefined) files.push(env_file)
    expect(files.length).toBeGreaterThan(1)
    const created = heading.match(/(?<=> |-out )secrets\/[\w.]+/g) ?? []
    expect(created.map((file) => `./${file}`).sort()).toEqual(files.sort())
  })

  test('its heading opens the secrets to the users of the containers, in a closed folder', () => {
    const heading = text.slice(0, text.indexOf('\nname:'))
    const at = (words: string) => heading.indexOf(words)
    expect(at('mkdir -m 700 secrets ')).toBeGreaterThan(0)
    expect(at('chmod 644 secrets/*')).toBeGreaterThan(heading.lastIndexOf('> secrets/'))
    expect(at('docker compose ')).toBeGreaterThan(at('chmod 644 secrets/*'))
  })

  // The image of PostgreSQL creates the database with a server that listens on its socket only.
  test('a node waits for the database, not for the server that creates it', () => {
    expect(services.postgres?.healthcheck).toHaveProperty('test', [
      ...['CMD', 'pg_isready', '--host', '127.0.0.1'],
      ...['--username', 'agents', '--dbname', 'agents'],
    ])
  })

  test('a node starts with its settings, and believes only addresses of its own network', () => {
    const [{ subnet = '' } = {}, ...more] = networks.default.ipam.config
    expect(more).toEqual([])
    for (const node of nodes) {
      const { host, tls, portalOrigin, trustedProxies, databaseUrl } = configOf(node)
      expect([host, tls, databaseUrl === undefined]).toEqual(['0.0.0.0', undefined, false])
      expect(portalOrigin).toMatch(/^https:/)
      const [prefix] = subnet.split('0/24')
      expect(trustedProxies).toHaveLength(1)
      for (const proxy of trustedProxies) expect(proxy.startsWith(prefix ?? '-')).toBe(true)
    }
  })

  test('a node refuses to start with an origin of plain HTTP, or without a trusted proxy', () => {
    for (const node of nodes) {
      const { BRIDGE_TRUSTED_PROXY: _proxy, ...without } = node.environment ?? {}
      expect(() => configOf({ ...node, environment: without })).toThrow('trusted_proxy')
      const plain = { ...node.environment, BRIDGE_PORTAL_ORIGIN: 'http://127.0.0.1:8484' }
      expect(() => configOf({ ...node, environment: plain })).toThrow(
        'portal_origin must be the https origin',
      )
    }
  })

  test('publishes ports on loopback only', () => {
    expect(exposedPorts(whole)).toEqual([])
    const published = Object.entries(services).filter(([, { ports = [] }]) => ports.length > 0)
    expect(published.map(([service]) => service)).toEqual([name === 'compose.yaml' ? 'bridge' : 'haproxy'])
    for (const reach of ['8484:8484', '0.0.0.0:8484:8484', '[::]:8484:8484'])
      expect(exposedPorts(compose(text.replace(/127\.0\.0\.1:\d+:\d+/, reach)))).toEqual([reach])
  })

  test('names a version of each image', () => {
    for (const { image, build } of Object.values(services)) {
      if (build === undefined) expect(image).toMatch(/^docker\.io\/[a-z]+\/[a-z]+:\d+\.\d+[\w.-]*$/)
      else expect([image, build]).toEqual([undefined, { context: '.', dockerfile: 'Containerfile' }])
    }
  })
})

test('compose.yaml believes the gateway of its network, which connections from the host come from', () => {
  const { services, networks } = compose(read('compose.yaml'))
  const [{ gateway = '' } = {}] = networks.default.ipam.config as readonly Partial<Subnet>[]
  expect(isIP(gateway)).toBe(4)
  expect(services.bridge?.environment?.BRIDGE_TRUSTED_PROXY).toBe(gateway)
  expect(services.bridge?.ports).toEqual([`127.0.0.1:8484:${ofImage.BRIDGE_PORT}`])
})

describe('HAProxy of compose-nodes.yaml', () => {
  const haproxy = read('haproxy-nodes.cfg')
  const { services } = compose(read('compose-nodes.yaml'))
  const bindOf = (text: string) => /^ +bind :(\d+) ssl crt (\S+) (.*)$/m.exec(text)?.slice(1) ?? []

  test('sends requests to the nodes of the file, in turn', () => {
    const servers = haproxy.matchAll(/^ +server \w+ (\S+):8484$/gm)
    const nodes = Object.keys(services).filter((name) => name.startsWith('node-'))
    expect([...servers].map(([, host]) => host)).toEqual(nodes)
    expect(ofImage.BRIDGE_PORT).toBe('8484')
  })

  test('looks up the nodes again, because a container that starts again has another address', () => {
    expect(haproxy).toMatch(/^resolvers names\n +parse-resolv-conf$/m)
    expect(haproxy).toMatch(/^ +default-server resolvers names .*init-addr last,libc,none$/m)
  })

  test('listens with TLS only, as haproxy.cfg does, on the published port', () => {
    const [port, certificate, ...options] = bindOf(haproxy)
    expect(haproxy.match(/^ +bind /gm)).toHaveLength(1)
    expect(certificate).toBe('/run/secrets/certificate')
    expect(options).toEqual(bindOf(read('haproxy.cfg')).slice(2))
    expect(services.haproxy?.ports).toEqual([`127.0.0.1:443:${port}`])
  })
})
