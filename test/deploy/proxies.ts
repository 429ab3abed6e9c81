/**
 * The reverse proxies of examples/deploy in front of a node, each with the published file: only ports, name
 * and certificate differ.
 *
 * Each runs in the foreground as one process, is ended by its id, and keeps its files in a folder that is
 * removed afterwards.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certificateChain } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'

export interface ReverseProxy {
  /** The address with TLS, for clients. */
  readonly url: string
  /** The same server without TLS, for bytes that no client would send. */
  readonly plainUrl: string
  /** The authority of its certificate. */
  readonly authority: string
  close(): Promise<void>
}

export interface ProxyKind {
  readonly name: string
  readonly isInstalled: boolean
  start(nodePort: number, port: number): Promise<ReverseProxy>
}

interface Place {
  readonly folder: string
  readonly nodePort: number
  readonly port: number
  readonly plainPort: number
}

/** Writes its configuration into the folder; returns the command that runs it. */
type Placing = (place: Place) => readonly [command: string, ...words: string[]]

export const proxies: readonly ProxyKind[] = [
  kind('nginx', '-v', (place) => {
    const { folder, nodePort, port, plainPort } = place
    const conf = placed('nginx.conf', [
      ['server 127.0.0.1:8484;', `server 127.0.0.1:${nodePort};`],
      ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl; listen 127.0.0.1:${plainPort};`],
      ['    listen [::]:443 ssl;\n', ''],
      ['server_name bridge.example;', 'server_name localhost bridge.test;'],
      ['/etc/ssl/bridge/fullchain.pem', join(folder, 'cert.pem')],
      ['/etc/ssl/bridge/privkey.pem', join(folder, 'key.pem')],
    ])
    writeFileSync(join(folder, 'bridge.conf'), conf)
    writeFileSync(join(folder, 'nginx.conf'), aroundNginx(folder))
    return ['nginx', '-c', join(folder, 'nginx.conf'), '-p', folder, '-e', join(folder, 'error.log')]
  }),
  kind('caddy', 'version', ({ folder, nodePort, port, plainPort }) => {
    const site = (address: string) =>
      placed('Caddyfile', [
        ['bridge.example {', `${address}`],
        ['127.0.0.1:8484', `127.0.0.1:${nodePort}`],
      ])
    const certificate = `${join(folder, 'cert.pem')} ${join(folder, 'key.pem')}`
    const own = '{\n  admin off\n  auto_https off\n  default_bind 127.0.0.1\n}\n'
    const sites =
      site(`https://localhost:${port} {\n  tls ${certificate}`) +
      site(`http://127.0.0.1:${plainPort}, http://bridge.test:${plainPort} {`)
    writeFileSync(join(folder, 'Caddyfile'), own + sites)
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
  }),
  kind('haproxy', '-v', ({ folder, nodePort, port, plainPort }) => {
    const pem = join(folder, 'all.pem')
    writeFileSync(
      pem,
      readFileSync(join(folder, 'cert.pem'), 'utf8') + readFileSync(join(folder, 'key.pem'), 'utf8'),
      { mode: 0o600 },
    )
    const conf = placed('haproxy.cfg', [
      [
        'bind :443 ssl crt /etc/ssl/bridge/all.pem',
        `bind 127.0.0.1:${plainPort}\n    bind 127.0.0.1:${port} ssl crt ${pem}`,
      ],
      ['127.0.0.1:8484', `127.0.0.1:${nodePort}`],
    ])
    writeFileSync(join(folder, 'haproxy.cfg'), conf)
    return ['haproxy', '-db', '-f', join(folder, 'haproxy.cfg')]
  }),
]

function kind(name: string, version: string, place: Placing): ProxyKind {
  return {
    name,
    isInstalled: spawnSync(name, [version]).status === 0,
    start: (nodePort, port) => start(place, nodePort, port),
  }
}

async function start(place: Placing, nodePort: number, port: number): Promise<ReverseProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-proxy-'))
  const chain = await certificateChain()
  const { cert, key } = await chain.server()
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 })
  const plainPort = await freePort()
  const [command, ...words] = place({ folder, nodePort, port, plainPort })
  const { PATH = '' } = process.env
  const child = spawn(command, words, { env: { PATH, HOME: folder } })
  await listening(child, port)
  return {
    url: `https://localhost:${port}`,
    plainUrl: `http://127.0.0.1:${plainPort}`,
    authority: chain.root.cert,
    async close() {
      if (child.exitCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true })
    },
  }
}

/** Returns the example with the values of a place; each replaced line must exist. */
function placed(name: string, changes: readonly (readonly [from: string, to: string])[]): string {
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`examples/deploy/${name} lacks: ${from}`)
      return text.replace(from, to)
    },
    readFileSync(new URL(`../../examples/deploy/${name}`, import.meta.url), 'utf8'),
  )
}

const aroundNginx = (folder: string): string => `
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

/** Resolves when it accepts connections; rejects if it exits first. */
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
  throw new Error(`the proxy ended before it listened: ${said}`)
}
