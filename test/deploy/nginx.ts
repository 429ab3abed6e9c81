/**
 * nginx in front of a node, with the very file that examples/deploy hands out: only ports, name and certificate differ.
 *
 * It runs in the foreground as one process, is ended by its id, and keeps its files in a folder that goes with it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certificateChain } from '../support/certificates.ts'
import { freePort } from '../support/process.ts'

export const hasNginx = spawnSync('nginx', ['-v']).status === 0

const example = new URL('../../examples/deploy/nginx.conf', import.meta.url)

export interface Nginx {
  /** With TLS, as clients come. */
  readonly url: string
  /** The same server without TLS, for bytes that no client would send. */
  readonly plainUrl: string
  /** The authority of its certificate. */
  readonly authority: string
  errors(): string
  close(): Promise<void>
}

export async function startNginx(nodePort: number, port: number): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-nginx-'))
  const file = (name: string) => join(folder, name)
  const chain = certificateChain()
  const { cert, key } = chain.server()
  writeFileSync(file('cert.pem'), cert)
  writeFileSync(file('key.pem'), key, { mode: 0o600 })
  const plainPort = await freePort()
  writeFileSync(file('bridge.conf'), placed(folder, { nodePort, port, plainPort }))
  writeFileSync(file('nginx.conf'), around(folder))
  const child = spawn('nginx', ['-c', file('nginx.conf'), '-p', folder, '-e', file('error.log')])
  await listening(child, port)
  return {
    url: `https://localhost:${port}`,
    plainUrl: `http://127.0.0.1:${plainPort}`,
    authority: chain.root.cert,
    errors: () => readFileSync(file('error.log'), 'utf8'),
    async close() {
      if (child.exitCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true })
    },
  }
}

interface Ports {
  readonly nodePort: number
  readonly port: number
  readonly plainPort: number
}

/** The example with what is particular to a place; each of its lines must be there. */
function placed(folder: string, { nodePort, port, plainPort }: Ports): string {
  const changes: [string, string][] = [
    ['server 127.0.0.1:8484;', `server 127.0.0.1:${nodePort};`],
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl; listen 127.0.0.1:${plainPort};`],
    ['    listen [::]:443 ssl;\n', ''],
    ['server_name bridge.example;', 'server_name localhost bridge.test;'],
    ['/etc/ssl/bridge/fullchain.pem', join(folder, 'cert.pem')],
    ['/etc/ssl/bridge/privkey.pem', join(folder, 'key.pem')],
  ]
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`examples/deploy/nginx.conf lacks: ${from}`)
      return text.replace(from, to)
    },
    readFileSync(example, 'utf8'),
  )
}

const around = (folder: string): string => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
events { worker_connections 256; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  include ${folder}/bridge.conf;
}
`

/** Resolves when it accepts; rejects when it ends before. */
async function listening(child: ChildProcess, port: number): Promise<void> {
  let said = ''
  child.stderr?.on('data', (text) => {
    said += text
  })
  while (child.exitCode === null) {
    const probe = connect(port, '127.0.0.1')
    const accepted = await new Promise<boolean>((resolve) => {
      probe.once('connect', () => resolve(true))
      probe.once('error', () => resolve(false))
    })
    probe.destroy()
    if (accepted) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`nginx ended before it listened: ${said}`)
}
