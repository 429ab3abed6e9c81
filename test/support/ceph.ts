/**
 * The object gateway of Ceph with a monitor and a store in memory, on loopback: a real object store for tests. It needs
 * Debian's `radosgw`, `ceph-mon`, `ceph-osd` and `ceph-common`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { AwsClient } from 'aws4fetch'
import { freePort } from './free-port.ts'
import { testKeys } from './object-store.ts'

export interface Ceph {
  readonly endpoint: string
  readonly bucket: string
  /** The region of a gateway that has no other ones. */
  readonly region: string
  close(): Promise<void>
}

const region = 'default'
const bucket = 'agents'
const startsWithinMs = 60_000
const run = promisify(execFile)

export async function startCeph(): Promise<Ceph> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-ceph-'))
  const children: ChildProcess[] = []
  const close = async () => {
    for (const child of children.reverse()) {
      const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
      child.kill('SIGKILL')
      await ended
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const [monitor, gateway] = [await freePort(), await freePort()]
    const file = join(folder, 'ceph.conf')
    const cluster = randomUUID()
    for (const name of ['mon', 'osd', 'gateway']) mkdirSync(join(folder, name))
    writeFileSync(file, settings(folder, cluster, monitor, gateway))
    const env = { PATH: process.env.PATH, CEPH_CONF: file }
    const act = (program: string, ...args: string[]) =>
      run(program, args, { env, timeout: startsWithinMs }).catch((error: Error & { stderr?: string }) => {
        throw new Error(`${program} failed: ${error.stderr ?? error.message}`)
      })
    const serve = (program: string, ...args: string[]) => {
      const child = spawn(program, ['-f', ...args], { env, stdio: 'ignore' })
      children.push(child)
      return child
    }
    const map = join(folder, 'map')
    const places = ['--addv', 'a', `[v1:127.0.0.1:${monitor}]`]
    await act('monmaptool', '--create', '--fsid', cluster, ...places, map)
    await act('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map)
    serve('ceph-mon', '-i', 'a')
    const store = randomUUID()
    await act('ceph', 'osd', 'new', store)
    await act('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', store)
    const startStore = () => serve('ceph-osd', '-i', '0')
    let storing = startStore()
    // A gateway that starts before the store may never answer.
    await until('the store of Ceph is not up', async () => {
      // It ends if it asks the monitor for its place before it knows the cluster.
      if (storing.exitCode !== null) storing = startStore()
      const { stdout } = await act('ceph', 'osd', 'stat', '--format', 'json')
      return (JSON.parse(stdout) as { num_up_osds: number }).num_up_osds === 1
    })
    serve('radosgw', '-n', 'client.gateway')
    const endpoint = `http://127.0.0.1:${gateway}`
    await until('the gateway of Ceph does not answer', () =>
      fetch(endpoint).then(
        (answer) => answer.text().then(() => true),
        () => false,
      ),
    )
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = testKeys
    const keys = [`--access-key=${accessKeyId}`, `--secret=${secretAccessKey}`]
    await act('radosgw-admin', 'user', 'create', '--uid=test', '--display-name=test', ...keys)
    const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' })
    const { status } = await client.fetch(`${endpoint}/${bucket}`, { method: 'PUT' })
    if (status !== 200) throw new Error(`the gateway answered ${status} to the creation of a bucket`)
    return { endpoint, bucket, region, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function until(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
  const begunMs = performance.now()
  while (!(await isSo())) {
    if (performance.now() - begunMs > startsWithinMs) throw new Error(otherwise)
    await sleep(100)
  }
}

/** One copy of each object, no authentication within the cluster, everything in the folder or in memory. */
const settings = (folder: string, cluster: string, monitor: number, gateway: number) => `
[global]
fsid = ${cluster}
mon host = v1:127.0.0.1:${monitor}
mon data = ${join(folder, 'mon')}
osd data = ${join(folder, 'osd')}
rgw data = ${join(folder, 'gateway')}
run dir = ${folder}
log file = ${folder}/$name.log
admin socket = ${folder}/$name.asok
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
osd objectstore = memstore
memstore device bytes = 1073741824
[client.gateway]
rgw frontends = beast endpoint=127.0.0.1:${gateway}
`
