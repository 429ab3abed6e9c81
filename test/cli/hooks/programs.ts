/** Programs in PATH that answer as harnesses do. */
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Desk } from '../../support/desk.ts'
import { put } from './homes.ts'

/** Puts a program into a folder of its own; returns the environment that finds it. */
export async function programIn(desk: Desk, name: string, script: string): Promise<Record<string, string>> {
  const folder = join(desk.home, 'programs')
  await mkdir(folder, { recursive: true })
  await put(join(folder, name), `#!${process.execPath}\n${script}`, 0o755)
  return { PATH: folder }
}

export const printing = (text: string): string => `console.log(${JSON.stringify(text)})\n`

const toml = createRequire(import.meta.url).resolve('smol-toml')

/** Lists hooks as Codex 0.169 does: a hook is trusted if `config.toml` has its hash under its key. */
export const codexScript = `
const { createHash } = require('node:crypto')
const { existsSync, readFileSync } = require('node:fs')
const { createInterface } = require('node:readline')
const { join } = require('node:path')
const { parse } = require(${JSON.stringify(toml)})
if (process.argv[2] === '--version') {
  console.log('codex-cli 0.169.0')
  process.exit()
}
const folder = join(process.env.HOME, '.codex')
const read = (name) => existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : ''
const hooks = () => {
  const state = parse(read('config.toml')).hooks?.state ?? {}
  const path = join(folder, 'hooks.json')
  return Object.entries(JSON.parse(read('hooks.json')).hooks).flatMap(([event, groups]) => groups.flatMap((group, at) =>
    group.hooks.map((hook, index) => {
      const key = [path, event.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase(), at, index].join(':')
      const currentHash = 'sha256:' + createHash('sha256').update(JSON.stringify(hook)).digest('hex')
      const known = state[key]?.trusted_hash
      const trustStatus = known === undefined ? 'untrusted' : known === currentHash ? 'trusted' : 'modified'
      return { key, command: hook.command, sourcePath: path, currentHash, trustStatus, enabled: true }
    })))
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  console.log(JSON.stringify({ id, result: method === 'hooks/list' ? { data: [{ cwd: '/', hooks: hooks(), warnings: [] }] } : {} }))
})
`

/** Lists the hooks of its flags as Codex 0.169 does. Started in another way, it runs what follows. */
export const flagCodexScript = `
if (process.argv[2] === 'app-server') {
  const { createInterface } = require('node:readline')
  const { parse } = require(${JSON.stringify(toml)})
  const hooks = process.argv.filter((_, at, all) => all[at - 1] === '-c').flatMap((flag) =>
    Object.entries(parse(flag).hooks ?? {}).flatMap(([event, groups]) => groups.map(({ hooks: [hook] }, at) => ({
      key: '/<session-flags>/config.toml:' + event + ':' + at + ':0',
      command: hook.command,
      currentHash: 'sha256:00',
      trustStatus: 'untrusted',
      enabled: true,
    }))))
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id } = JSON.parse(line)
    if (id !== undefined) console.log(JSON.stringify({ id, result: { data: [{ hooks }] } }))
  })
} else run()
`
