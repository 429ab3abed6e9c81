/**
 * The time from the end of its standard input until `bridge mcp` exits, while a call waits for a node that does not
 * answer.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { program } from '../../support/program.ts'
import { childrenMs, costing, noCosts } from '../processor.ts'
import { bounded, median, type Row } from '../rows.ts'
import type { Environment, Repeats } from './starts.ts'

const mostMs = 500
const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
    name: 'send',
    arguments: { to: 'ben', text: 'slow' },
  },
}

export async function* mcpRows(
  folder: string,
  { rounds, runs }: Repeats,
  profile: Environment,
): AsyncGenerator<Row> {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).resume()
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  try {
    const home = join(folder, 'silent')
    cpSync(profile.BRIDGE_HOME ?? '', home, { recursive: true })
    const path = join(home, 'profiles', 'default', 'profile.json')
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), base_url: url }))
    const endMs = async () => {
      const child = spawn(process.execPath, [program, 'mcp'], {
        env: { PATH: process.env.PATH, ...profile, BRIDGE_HOME: home },
        stdio: ['pipe', 'ignore', 'inherit'],
      })
      const asked = once(silent, 'connection')
      child.stdin.write(`${JSON.stringify(call)}\n`)
      await asked
      const exited = once(child, 'exit')
      const began = performance.now()
      child.stdin.end()
      const [code] = (await exited) as [number | null]
      if (code !== 0) throw new Error(`bridge mcp ended with ${code}`)
      return performance.now() - began
    }
    const tookMs: number[] = []
    const costs = noCosts()
    for (let round = 0; round < rounds; round += 1) {
      const some: number[] = []
      const { cpuMs } = await costing(childrenMs, async () => {
        for (let run = 0; run < runs; run += 1) some.push(await endMs())
      })
      tookMs.push(median(some))
      costs.product.push((cpuMs * 1000) / runs)
    }
    yield bounded('commands: bridge mcp exits after its input, its node silent', 'ms', tookMs, mostMs, costs)
  } finally {
    for (const socket of sockets) socket.destroy()
    silent.close()
  }
}
