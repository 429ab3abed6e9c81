/** nginx with sendfile, if it is installed: the speed of the kernel when no program touches the bytes. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { endOf, type Running } from './programs.ts'

export const hasNginx = (): boolean => spawnSync('nginx', ['-v']).status === 0

/** Serves one file at every path. */
export async function startNginx(folder: string, path: string): Promise<Running> {
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${join(folder, 'nginx.pid')}; error_log /dev/null;
     events { worker_connections 16; }
     http { access_log off; sendfile on; tcp_nopush on;
       client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
       uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
       server { listen 127.0.0.1:${port}; root ${dirname(path)};
         location / { rewrite ^ /${basename(path)} break; } } }`,
  )
  const child = spawn('nginx', ['-c', config, '-p', folder], { stdio: 'ignore' })
  await answering(port)
  return { port, pid: child.pid ?? 0, readyMs: 0, end: () => endOf(child) }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

async function answering(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD' }).catch(() => undefined)
    if (answer !== undefined) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('nginx does not answer')
}
