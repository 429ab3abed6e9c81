/** A node whose certificate comes from an authority of its own: the prompt carries it, and the profile keeps it. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openProfile } from '../../sdk/index.ts'
import { certificateChain } from '../support/certificates.ts'
import { dropDatabase, hostEnvironment, makeEmptyDatabase } from '../support/postgres.ts'
import { type Bare, bareMachine, pastedOf } from '../support/shell.ts'
import { type Ended, TestHome } from '../support/test-home.ts'

const password = 'correct horse battery staple'

let host: TestHome
let machine: Bare
let url: string
let node: Awaited<ReturnType<typeof started>>
let other: string

const file = (name: string) => join(host.folder, name)

async function started() {
  const chain = await certificateChain()
  const { cert, key } = await chain.server({ name: 'node' })
  writeFileSync(file('cert.pem'), cert)
  writeFileSync(file('key.pem'), key, { mode: 0o600 })
  // A careless owner has the key in the same file. It must not get into the prompt.
  writeFileSync(file('root.pem'), `${chain.root.key}${chain.root.cert}`)
  const environment = { ...hostEnvironment(file('data')), NODE_EXTRA_CA_CERTS: file('root.pem') }
  const ok = async (args: readonly string[], stdin = ''): Promise<string> => {
    const ended = await host.run(args, { environment, stdin })
    if (ended.code !== 0) throw new Error(`bridge ${args.join(' ')} exited ${ended.code}: ${ended.stderr}`)
    return ended.stdout
  }
  const tls = ['--tls-cert', file('cert.pem'), '--tls-key', file('key.pem'), '--tls-ca', file('root.pem')]
  const link = await ok(['server', 'init', ...tls])
  const process = host.start(['server', 'start', '--port', '0'], { environment })
  const [, at = ''] = /^ready at (https:\S+)$/m.exec(await process.printed(/\n/)) ?? []
  url = at
  await ok(
    ['admin', 'setup', '--name', 'olu', '--url', at, '--password-stdin'],
    `${link.trim()}\n${password}\n`,
  )
  await ok(['admin', 'project', 'create', 'demo'])
  const pasted = async (name: string) => {
    await ok(['admin', 'agent', 'create', name])
    const prompt = await ok(['admin', 'enrollment', 'create', name])
    return { prompt, ...pastedOf(prompt) }
  }
  return { process, pasted, root: chain.root }
}

beforeAll(async () => {
  host = await TestHome.make()
  await makeEmptyDatabase(file('data'))
  machine = bareMachine(join(host.folder, 'home'))
  node = await started()
  other = (await certificateChain()).root.cert
})
afterAll(async () => {
  node.process.child.kill('SIGTERM')
  expect(await node.process.ended).toMatchObject({ code: 0 })
  await host.remove()
  await dropDatabase(file('data'))
})

const ok = async (ended: Promise<Ended>): Promise<string> => {
  const { code, stdout, stderr } = await ended
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`)
  return stdout
}

test('one paste is enough, and all connections trust the authority in the profile', async () => {
  const ada = await node.pasted('ada')
  expect(ada.prompt).toContain(node.root.cert.trim())
  expect(ada.prompt).not.toContain('PRIVATE KEY')
  expect(await ok(machine.sh(`${ada.install}\n${ada.enrol}`))).toMatch(/^installed [\s\S]*enrolled as ada/)
  const ben = await node.pasted('ben')
  expect(await ok(machine.sh(`${ben.install}\n${ben.enrol}`))).toMatch(/^already installed\nenrolled as ben/)

  // From now on only the profiles have it.
  for (const name of readdirSync(join(machine.home, '.agent-bridge')))
    if (name.endsWith('.pem')) rmSync(join(machine.home, '.agent-bridge', name))
  await ok(machine.sh(ben.command('session start')))
  await ok(machine.sh(ada.command("send ben 'over TLS'")))
  expect(await ok(machine.sh(ben.command('listen --once --timeout 100')))).toContain('over TLS')
  writeFileSync(join(machine.home, 'notes.txt'), 'one line\n')
  const [, id = ''] =
    /([0-9a-f]{8}-[0-9a-f-]{27})/.exec(
      await ok(machine.sh(ada.command('transfer send notes.txt --to ben --json'))),
    ) ?? []
  await ok(machine.sh(ben.command(`transfer receive ${id} --output received.txt`)))
  expect(readFileSync(join(machine.home, 'received.txt'), 'utf8')).toBe('one line\n')
  expect(await ok(machine.sh(ada.command('doctor')))).toMatch(/^ok +tls +the certificate is valid/m)

  const home = join(machine.home, '.config/agent-bridge')
  for (const transport of ['socket', 'sse', 'long-poll'] as const) {
    await using ears = await openProfile('ben', { home, transports: [transport] })
    await ok(machine.sh(ada.command(`send ben 'by ${transport}'`)))
    for await (const message of ears.listen({ signal: AbortSignal.timeout(60_000) })) {
      await message.acknowledge()
      if (message.body === `by ${transport}`) break
    }
  }
})

test('with another authority the line installs nothing, and enrol refuses the node', async () => {
  const elsewhere = bareMachine(join(host.folder, 'elsewhere'))
  const { install, enrol, program, prompt } = await node.pasted('cleo')
  const forged = install.replace(/-----BEGIN[\s\S]*-----END CERTIFICATE-----/, other.trim())
  expect(await elsewhere.sh(forged)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^agent-bridge: fetch failed (UNABLE_TO_|SELF_SIGNED_)\w+\n$/),
  })
  expect((await elsewhere.sh(install)).code).toBe(0)
  writeFileSync(join(elsewhere.home, 'other.pem'), other)
  writeFileSync(join(elsewhere.home, 'text.pem'), 'no certificate')
  writeFileSync(join(elsewhere.home, 'damaged.pem'), other.replace(/^MI/m, 'AA'))
  const withCa = (ca: string) =>
    elsewhere.sh(`${program} enroll --url ${url} --profile cleo --ca ${ca}`, { stdin: prompt })
  expect(await withCa('other.pem')).toMatchObject({
    code: 9,
    stderr: expect.stringMatching(/does not trust[\s\S]*enroll --profile cleo --ca/),
  })
  expect(await withCa('missing.pem')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--ca missing.pem cannot be read (ENOENT)'),
  })
  for (const name of ['text.pem', 'damaged.pem']) {
    expect(await withCa(name)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--ca ${name} holds no certificate in PEM`),
    })
  }
  // None of these attempts used the code.
  expect((await elsewhere.sh(enrol)).code).toBe(0)
})

test.each([
  ['missing.pem', undefined, 'missing.pem cannot be read (ENOENT)'],
  ['empty.pem', 'no certificate', 'empty.pem must hold 1 to 4 certificates in PEM, not 0'],
])('a node does not start with tls_ca %s', async (name, content, message) => {
  if (content !== undefined) writeFileSync(file(name), content)
  const environment = hostEnvironment(file('another'))
  expect(await host.run(['server', 'init', '--tls-ca', file(name)], { environment })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(message),
  })
})
