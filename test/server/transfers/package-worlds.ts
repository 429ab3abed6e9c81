/**
 * A node for each store of packages: the data folder, our strict object store, and real object stores. The environment
 * names one, and `BRIDGE_CEPH=1` starts that of Ceph.
 */
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createObjectClient } from '../../../server/package-store/objects/client.ts'
import { objectPlaceOf } from '../../../server/packages-place.ts'
import type { SettingName } from '../../../server/settings.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { startCeph } from '../../support/ceph.ts'
import { startObjectStore, testKeys } from '../../support/object-store.ts'

export interface PackageWorld {
  readonly bridge: TestBridge
  restart(): Promise<void>
  /** Whether any stored bytes of the package contain these. */
  contains(id: string, some: Buffer): Promise<boolean>
  /** Number of files or objects of the package. */
  count(id: string): Promise<number>
  close(): Promise<void>
}

/** A bridge that keeps its place when it is restarted. */
function standing(bridge: TestBridge) {
  let current = bridge
  return {
    get bridge() {
      return current
    },
    async restart() {
      current = await current.restart()
    },
    close: () => current.close(),
  }
}

export type Settings = Partial<Record<SettingName, string>>

async function folderWorld(settings: Settings): Promise<PackageWorld> {
  const bridge = await startBridge({ settings })
  const folder = (id: string) => join(bridge.data, 'packages', id)
  const names = (id: string) => readdir(folder(id)).catch(() => [])
  const node = standing(bridge)
  return Object.assign(node, {
    async contains(id: string, some: Buffer) {
      const files = await Promise.all((await names(id)).map((name) => readFile(join(folder(id), name))))
      return files.some((file) => file.includes(some))
    },
    count: async (id: string) => (await names(id)).length,
  })
}

async function objectWorld(settings: Settings): Promise<PackageWorld> {
  const store = await startObjectStore()
  const bridge = await startBridge({ settings: { ...settings, ...store.settings() }, environment: testKeys })
  const of = (id: string) => [...store.objects].filter(([key]) => key.includes(id))
  const node = standing(bridge)
  const { close } = node
  return Object.assign(node, {
    contains: async (id: string, some: Buffer) => of(id).some(([, { bytes }]) => bytes.includes(some)),
    count: async (id: string) => of(id).length,
    async close() {
      await close()
      await store.close()
    },
  })
}

const { env } = process

/** A bucket that a test may fill below a prefix of its own, and its keys. */
interface RealStore {
  readonly packages: string
  readonly endpoint: string
  readonly region: string
  readonly environment: Readonly<Record<string, string>>
}

/** The store that the environment names. */
const namedWorld = (settings: Settings) =>
  realWorld(settings, {
    packages: env.BRIDGE_TEST_PACKAGES ?? '',
    endpoint: env.BRIDGE_TEST_PACKAGES_ENDPOINT ?? '',
    region: env.BRIDGE_TEST_PACKAGES_REGION ?? '',
    environment: {
      AWS_ACCESS_KEY_ID: env.AWS_ACCESS_KEY_ID ?? '',
      AWS_SECRET_ACCESS_KEY: env.AWS_SECRET_ACCESS_KEY ?? '',
      AWS_SESSION_TOKEN: env.AWS_SESSION_TOKEN ?? '',
    },
  })

async function cephWorld(settings: Settings): Promise<PackageWorld> {
  const ceph = await startCeph()
  const { endpoint, region, bucket } = ceph
  const store = { packages: `s3://${bucket}/tests`, endpoint, region, environment: testKeys }
  const world = await realWorld(settings, store)
  const { close } = world
  return Object.assign(world, { close: () => close().finally(ceph.close) })
}

async function realWorld(settings: Settings, store: RealStore): Promise<PackageWorld> {
  const { endpoint, region, environment } = store
  const packages = `${store.packages}/test-${randomBytes(6).toString('hex')}`
  const given = { packages, packages_endpoint: endpoint, packages_region: region }
  const bridge = await startBridge({ settings: { ...settings, ...given }, environment })
  const place = objectPlaceOf({ packages, endpoint, region }, environment)
  if (place === undefined) throw new Error('BRIDGE_TEST_PACKAGES must be s3://bucket/prefix')
  const client = createObjectClient(place, 2)
  const keysOf = async (id: string) => {
    const keys: string[] = []
    for await (const { objects } of client.list(`${place.prefix}packages/${id}/`))
      keys.push(...objects.map(({ key }) => key))
    return keys
  }
  const node = standing(bridge)
  const { close } = node
  return Object.assign(node, {
    async contains(id: string, some: Buffer) {
      for (const key of await keysOf(id)) {
        const chunks: Buffer[] = []
        for await (const chunk of await client.get(key)) chunks.push(chunk)
        if (Buffer.concat(chunks).includes(some)) return true
      }
      return false
    },
    count: async (id: string) => (await keysOf(id)).length,
    async close() {
      await close()
      await client.close()
    },
  })
}

type Start = (settings: Settings) => Promise<PackageWorld>

const real = (name: string | undefined, start: Start): [string, Start][] =>
  name === undefined ? [] : [[name, start]]

/** The stores over which the suite of packages runs. */
export const packageWorlds: [string, Start][] = [
  ['the data folder', folderWorld],
  ['our object store', objectWorld],
  ...real(env.BRIDGE_TEST_PACKAGES, namedWorld),
  ...real(env.BRIDGE_CEPH && 'the object gateway of Ceph', cephWorld),
]
