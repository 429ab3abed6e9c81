/**
 * The images that the Compose files name. An image that is not there is pulled. If its registry is out of
 * reach, a stand-in of the same name is built from the programs of this machine, which must be a Debian with
 * PostgreSQL and HAProxy. All that was pulled or built is removed afterwards.
 */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Engine } from './engine.ts'

export interface Images {
  /** One line for each image: whether it is real. */
  readonly origins: readonly string[]
  remove(): Promise<void>
}

const here = import.meta.dirname
const standInLabel = 'agent-bridge.test=stand-in'
const base = 'localhost/agent-bridge-test-base'

export async function provideImages(engine: Engine, names: readonly string[]): Promise<Images> {
  const made: string[] = []
  const remove = async () => {
    for (const name of made) await engine.run('image', 'rm', name)
  }
  try {
    const found = await Promise.all(names.map(async (name) => [name, await originOf(engine, name)] as const))
    made.push(...found.filter(([, origin]) => origin === 'pulled').map(([name]) => name))
    const missing = found.filter(([, origin]) => origin === undefined).map(([name]) => name)
    // The base goes last.
    if (missing.length > 0) await buildStandIns(engine, missing, (name) => made.unshift(name))
    return {
      origins: found.map(([name, origin]) => `${name}: ${origin ?? 'STAND-IN of this machine'}`),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Returns undefined if the image cannot be had. A stand-in that a killed run left behind does not count. */
async function originOf(engine: Engine, name: string): Promise<string | undefined> {
  const label = await engine
    .run('image', 'inspect', '--format', '{{json .Config.Labels}}', name)
    .catch(() => undefined)
  if (label !== undefined) return label.includes('stand-in') ? undefined : 'real, was here'
  const pulled = await engine.run('pull', '--quiet', name).then(
    () => true,
    () => false,
  )
  return pulled ? 'pulled' : undefined
}

async function buildStandIns(engine: Engine, names: readonly string[], onBuilt: (name: string) => void) {
  const [postgres] = existing('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a))
  const haproxy = spawnSync('haproxy', ['-v']).status === 0
  if (postgres === undefined || !haproxy)
    throw new Error('no registry answers, and this machine lacks Debian packages of PostgreSQL and HAProxy')
  // Not in memory: an image has 0.5 GB.
  const folder = mkdtempSync('/var/tmp/bridge-stand-ins-')
  const build = async (name: string, lines: readonly string[], fill: (folder: string) => void) => {
    const context = join(folder, String(existing(folder).length))
    mkdirSync(context)
    fill(context)
    writeFileSync(join(context, 'Containerfile'), [...lines, `LABEL ${standInLabel}`, ''].join('\n'))
    await engine.run('build', '--quiet', '--tag', name, '--file', join(context, 'Containerfile'), context)
    onBuilt(name)
  }
  try {
    await build(base, baseLines, (context) => writeRootfs(join(context, 'rootfs.tar'), postgres))
    for (const name of names) {
      const [, make] = Object.entries(standIns).find(([part]) => name.includes(`/${part}:`)) ?? []
      if (make === undefined) throw new Error(`no stand-in for ${name}`)
      const { lines, fill } = make(postgres)
      await build(name, [`FROM ${base}`, ...lines], fill)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const users = [
  ['root', 0, '/root'],
  ['haproxy', 99, '/var/lib/haproxy'],
  ['postgres', 999, '/var/lib/postgresql'],
  ['node', 1000, '/home/node'],
] as const

const lineOf = (lines: readonly string[], file: string) => `printf '${lines.join('\\n')}\\n' > ${file}`

const baseLines = [
  'FROM scratch',
  'ADD rootfs.tar /',
  `RUN ${[
    lineOf(
      users.map(([name, id, home]) => `${name}:x:${id}:${id}::${home}:/bin/bash`),
      '/etc/passwd',
    ),
    lineOf(
      users.map(([name, id]) => `${name}:x:${id}:`),
      '/etc/group',
    ),
    'mkdir -p /tmp /run /var/tmp /var/lib/haproxy /home/node /root',
    'chmod 1777 /tmp /var/tmp',
    'chown 99:99 /var/lib/haproxy && chown 1000:1000 /home/node',
  ].join(' && ')}`,
  'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8',
]

function writeRootfs(file: string, postgres: string): void {
  const packages = [`postgresql-${postgres}`, 'haproxy', 'ca-certificates', 'libstdc++6', 'tzdata']
  const { status, stderr } = spawnSync(join(here, 'rootfs.sh'), [file, ...packages], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`rootfs.sh ended with ${status}: ${stderr}`)
}

interface StandIn {
  readonly lines: readonly string[]
  fill(folder: string): void
}

/** By the last part of the name of the image. */
const standIns: Readonly<Record<string, (postgres: string) => StandIn>> = {
  node: () => ({
    lines: [
      'COPY node /usr/local/bin/',
      'COPY npm /usr/local/lib/node_modules/npm/',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
      // npm trusts the authorities that this machine trusts.
      'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt',
      'CMD ["node"]',
    ],
    fill(folder) {
      copyFileSync(process.execPath, join(folder, 'node'))
      cpSync(npmFolder(), join(folder, 'npm'), { recursive: true, dereference: true })
    },
  }),
  postgres: (version) => ({
    lines: [
      'COPY postgres.sh /usr/local/bin/',
      `ENV PATH=/usr/lib/postgresql/${version}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      'ENV PGDATA=/var/lib/postgresql/18/docker',
      'STOPSIGNAL SIGINT',
      'ENTRYPOINT ["postgres.sh"]',
      'CMD ["postgres", "-c", "listen_addresses=*"]',
    ],
    fill: (folder) => copyFileSync(join(here, 'postgres.sh'), join(folder, 'postgres.sh')),
  }),
  haproxy: () => ({
    lines: [
      'STOPSIGNAL SIGUSR1',
      'USER haproxy',
      'WORKDIR /var/lib/haproxy',
      'CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]',
    ],
    fill: () => {},
  }),
  rclone: () => ({
    lines: [
      'COPY node /usr/local/bin/',
      'COPY test /test/',
      'ENTRYPOINT ["node", "/test/deploy/containers/objects.ts"]',
    ],
    fill(folder) {
      copyFileSync(process.execPath, join(folder, 'node'))
      for (const file of ['deploy/containers/objects.ts', 'support/object-store.ts']) {
        mkdirSync(dirname(join(folder, 'test', file)), { recursive: true })
        copyFileSync(join(here, '../..', file), join(folder, 'test', file))
      }
    },
  }),
}

function npmFolder(): string {
  const { stdout } = spawnSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' })
  return join(dirname(realpathSync(stdout.trim())), '..')
}

function existing(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
