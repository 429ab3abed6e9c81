/**
 * A node with TLS and client processes: the program gets the authority by NODE_EXTRA_CA_CERTS, or refuses the
 * node.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { certificateChain } from '../support/certificates.ts'
import { dropDatabase, hostEnvironment, makeEmptyDatabase } from '../support/postgres.ts'
import { type Ended, TestHome } from '../support/test-home.ts'

let home: TestHome
let data: string

beforeEach(async () => {
  home = await TestHome.make()
  data = join(home.folder, 'data')
  await makeEmptyDatabase(data)
})
afterEach(async () => {
  await home.remove()
  await dropDatabase(data)
})

const dayMs = 86_400_000
const password = 'correct horse battery staple'

test('owner and agent use the node, a client without the authority refuses it, and SIGHUP renews its certificate', async () => {
  const chain = await certificateChain()
  const [cert, key, root] = ['cert.pem', 'key.pem', 'root.pem'].map((name) => join(home.folder, name)) as [
    string,
    string,
    string,
  ]
  const write = (served: { cert: string; key: string }) => {
    writeFileSync(cert, served.cert)
    writeFileSync(key, served.key, { mode: 0o600 })
  }
  write(await chain.server({ name: 'first' }))
  writeFileSync(root, chain.root.cert)
  const environment = { ...hostEnvironment(data), NODE_EXTRA_CA_CERTS: root }
  const ok = async (args: readonly string[], stdin = ''): Promise<Ended> => {
    const ended = await home.run(args, { environment, stdin })
    if (ended.code !== 0) throw new Error(`bridge ${args.join(' ')} exited ${ended.code}: ${ended.stderr}`)
    return ended
  }

  const { stdout: link } = await ok(['server', 'init', '--tls-cert', cert, '--tls-key', key])
  expect(link).toMatch(/^https:/)
  const started = home.start(['server', 'start', '--port', '0'], { environment })
  const [, port] = /^ready at https:\/\/127\.0\.0\.1:(\d+)$/m.exec(await started.printed(/\n/)) ?? []
  const url = `https://localhost:${port}`

  // The command pins the certificate file itself, so it needs neither the authority nor the name.
  const local = hostEnvironment(data)
  expect(await home.run(['server', 'status'], { environment: local })).toMatchObject({ code: 0 })

  // Owner requests carry the origin that the node has for itself.
  const at = ['--url', `https://127.0.0.1:${port}`]
  const setUp = (...more: string[]) =>
    home.run(['admin', 'setup', '--name', 'olu', ...at, '--password-stdin', ...more], {
      stdin: `${link.trim()}\n${password}\n`,
    })
  const refused = (keeper: string) => ({
    code: 9,
    stderr: expect.stringMatching(
      `this machine does not trust .*\nhint: NODE_EXTRA_CA_CERTS names a file with the certificate authority to trust; ${keeper}`,
    ),
  })
  expect(await setUp()).toMatchObject(refused('bridge admin setup --ca keeps one\n'))
  expect(await setUp('--ca', key)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('holds no certificate'),
  })
  expect(await setUp('--ca', root)).toMatchObject({ code: 0 })
  expect(await home.run(['admin', 'whoami'])).toMatchObject({ code: 0 })
  // Elsewhere, the owner gives the authority once, and the sign-in keeps it.
  const far = (words: string[]) => home.run([...words, '--profile', 'far'], { stdin: `${password}\n` })
  const login = ['admin', 'login', ...at, '--name', 'olu', '--password-stdin']
  expect(await far(login)).toMatchObject(refused('bridge admin login --profile far --ca keeps one\n'))
  expect(await far([...login, '--ca', key])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('holds no certificate'),
  })
  expect(await far([...login, '--ca', root])).toMatchObject({ code: 0 })
  expect(await far(['admin', 'whoami'])).toMatchObject({ code: 0 })
  expect(await far(login)).toMatchObject({ code: 0 })
  await ok(['admin', 'project', 'create', 'demo'])
  await ok(['admin', 'agent', 'create', 'ada'])
  const { stdout: prompt } = await ok(['admin', 'enrollment', 'create', 'ada'])
  const [, code] = /<<'CODE'\n(\S+)\nCODE/.exec(prompt) ?? []
  const enroll = ['enroll', '--url', url]
  expect(await home.run(enroll, { stdin: `${code}\n` })).toMatchObject(
    refused('bridge enroll --ca keeps one\n'),
  )
  await ok(enroll, `${code}\n`)
  await ok(['send', 'owner', 'over TLS'])
  const again = 'bridge enroll --ca, with a new code from the owner, keeps one'
  expect(await home.run(['peers'])).toMatchObject(refused(`${again}\n`))
  expect(await home.run(['send', 'owner', 'later'])).toMatchObject(
    refused(`${again}; until then the outbox keeps \\S+\n`),
  )
  await ok(['outbox', 'flush'])
  const signedIn = join(home.folder, 'bridge', 'profiles', 'far', 'owner.json')
  const { ca: _, ...without } = JSON.parse(readFileSync(signedIn, 'utf8'))
  writeFileSync(signedIn, JSON.stringify(without), { mode: 0o600 })
  expect(await far(['admin', 'whoami'])).toMatchObject(
    refused('bridge admin login --profile far --ca keeps one\n'),
  )

  const served = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ port: Number(port), host: '127.0.0.1', ca: chain.root.cert }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      })
      socket.once('error', reject)
    })
  expect(await served()).toBe('first')
  let renewals = 0
  const renew = async (name: string, days: number) => {
    renewals += 1
    write(await chain.server({ name, until: new Date(Date.now() + (days + 0.5) * dayMs) }))
    started.child.kill('SIGHUP')
    await started.said(new RegExp(`(?:certificate reloaded[^]*){${renewals}}`))
    if (days > 0) expect(await served()).toBe(name)
  }
  // Both doctor commands show the remaining validity.
  const toldBy = async (...args: string[]) => {
    const { code, stdout } = await home.run([...args, '--json'], { environment })
    const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string; text: string }[] }
    const { state, text } = findings.find(({ check }) => check === 'tls') ?? {}
    return `exit ${code}, ${state}: ${text}`
  }
  await renew('long', 40)
  expect(await toldBy('doctor')).toBe('exit 0, ok: the certificate is valid for 40 more days')
  await renew('short', 5)
  expect(await toldBy('doctor')).toBe('exit 0, warning: the certificate is valid for 5 more days')
  const files = ['--tls-cert', cert, '--tls-key', key]
  expect(await toldBy('server', 'doctor', ...files)).toBe(`exit 0, warning: ${cert} is valid for 5 more days`)
  await renew('expired', -1)
  expect(await home.run(['doctor'], { environment })).toMatchObject({
    code: 9,
    stdout: expect.stringMatching(/^problem +node .*expired/m),
  })
  expect(await toldBy('server', 'doctor', ...files)).toBe(`exit 2, problem: ${cert} has expired`)
  started.child.kill('SIGTERM')
  expect(await started.ended).toMatchObject({ code: 0 })
})
