/**
 * Describes this machine for a device-bound identity: operating system, hash of the machine id, installation
 * id.
 *
 * The raw machine id never leaves the machine. Each BRIDGE_HOME has one installation id, created on first
 * use.
 *
 * Contract §3, X-Bridge-Device.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { readJson, writeJson } from './json-file.ts'

/** Returns the exact X-Bridge-Device header of this machine and BRIDGE_HOME. */
export async function deviceOf({ home, random }: CliContext): Promise<string> {
  const { encodeDevice, uuidFrom } = await import('../../sdk/program.ts')
  const path = join(home, 'installation.json')
  const stored = (await readJson(path, 'authentication'))?.install
  const install = typeof stored === 'string' ? stored : uuidFrom(random)
  if (install !== stored) await writeJson(path, { install })
  const machine = createHash('sha256')
    .update(`agent-bridge:${await machineId()}`)
    .digest('hex')
  return encodeDevice({ os: process.platform, machine, install })
}

/** Returns the machine id of systemd or D-Bus, or the platform UUID of macOS. */
async function machineId(): Promise<string> {
  for (const path of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    const id = await readFile(path, 'utf8').catch(() => '')
    if (id.trim() !== '') return id.trim()
  }
  const id = process.platform === 'darwin' ? await platformUuid() : undefined
  if (id !== undefined) return id
  throw new CommandError('unexpected', 'this machine has no id to bind an identity to', {
    hint: 'ask the owner for an enrolment bound to the key only',
  })
}

async function platformUuid(): Promise<string | undefined> {
  const { execFileSync } = await import('node:child_process')
  const text = execFileSync('/usr/sbin/ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice'], { encoding: 'utf8' })
  return /"IOPlatformUUID" = "([0-9A-Fa-f-]{36})"/.exec(text)?.[1]
}
