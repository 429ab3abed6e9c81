/** The agents of the world, their environments and pairs, and the administrators. */
import { claimBody, type Enrolled, TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { exchange } from '../../support/http.ts'
import { keyPairOf } from './chance.ts'

/** A German word of 80 characters, which is the longest name. */
export const longName = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'

const roles = {
  ada: ['ada', 'architect', 'laptop'],
  ben: ['ben', 'reviewer', 'laptop'],
  long: [longName, 'Qualitätssicherungsbeauftragte', 'server'],
  arabic: ['مراجع الشيفرة', 'مراجع', 'server'],
  thai: ['ผู้ตรวจสอบโค้ดอาวุโส', 'ผู้ตรวจสอบ', 'ci'],
  dan: ['dan', 'nightly benchmarks', 'ci'],
  // Not enrolled, reused and disabled, in this order.
  fay: ['fay', 'translator', undefined],
  gus: ['gus', '', undefined],
  eva: ['eva', 'first reviewer', 'laptop'],
} as const

export type Role = keyof typeof roles
export type Working = Exclude<Role, 'fay' | 'gus' | 'eva'>

const clients: Readonly<Record<Working, readonly [name: string, version: string]>> = {
  ada: ['claude-code', '2.3.0'],
  ben: ['codex', '0.169.0'],
  long: ['agent-bridge', '0.1.0'],
  arabic: ['claude-code', '2.2.4'],
  thai: ['codex', '0.168.1'],
  dan: ['agent-bridge', '0.1.0'],
}

export interface People {
  /** Ids of all agents. */
  readonly ids: Readonly<Record<Role, string>>
  /** The agents that have a session. */
  readonly agents: Readonly<Record<Working, TestAgent>>
}

export async function settle(bridge: TestBridge, project: string): Promise<People> {
  const { owner } = bridge
  const at = `/api/admin/projects/${project}`
  const environments: Record<string, string> = {}
  for (const [name, kind] of [
    ['laptop', 'laptop'],
    ['server', 'server'],
    ['ci', 'ci'],
  ] as const) {
    const body = { name: `${name} of the team`, kind, description: `Where the agents of the ${name} run.` }
    environments[name] = (await owner.ok<{ id: string }>({ target: `${at}/environments`, body })).id
  }
  const ids: Partial<Record<Role, string>> = {}
  const agents: Partial<Record<Working, TestAgent>> = {}
  for (const role of Object.keys(roles) as Role[]) {
    const [name, role_name, environment] = roles[role]
    const { id } = await owner.createAgent(project, name, {
      role_name,
      description: `Works as ${role_name || 'a guest'}.`,
      ...(environment !== undefined && { environment_id: environments[environment] }),
    })
    ids[role] = id
    bridge.clock.advance(7)
    const code = await owner.enrollmentCode(project, id)
    if (role === 'fay') continue
    const agent = await enrollAs(bridge, code, role)
    if (role === 'eva') await owner.setAgent(project, id, 'disabled')
    else if (role === 'gus') await reuse(bridge, code)
    else {
      const [client, version] = clients[role]
      await agent.startSession(undefined, { client: { name: client, version } })
      agents[role] = agent
    }
  }
  const people = { ids, agents } as People
  await owner.setPairing(project, [people.ids.thai, people.ids.dan], false)
  await owner.ok({
    target: `${at}/agents/${people.ids.ada}/instructions`,
    body: { instructions: 'Review every change before it is merged.\nNever push to the main branch.' },
  })
  await administrators(bridge, project)
  return people
}

async function enrollAs({ url, clock }: TestBridge, code: string, name: string): Promise<TestAgent> {
  const keys = keyPairOf(name)
  const reply = await claim(url, JSON.stringify(claimBody(code, keys)))
  if (reply.status !== 200) throw new Error(`enrolment answered ${reply.status}: ${reply.text}`)
  return new TestAgent(url, keys, reply.json as Enrolled, clock)
}

/** Claims a used code with another key, as somebody who found it would. */
async function reuse({ url }: TestBridge, code: string): Promise<void> {
  await claim(url, JSON.stringify(claimBody(code, keyPairOf('a stranger'))))
}

const claim = (url: string, body: string) =>
  exchange(url, {
    method: 'POST',
    target: '/api/v1/enrollments/claim',
    headers: [['Content-Type', 'application/json']],
    body,
  })

/** The administrator mira with one project, and jon, who is disabled. */
async function administrators({ owner }: TestBridge, project: string): Promise<void> {
  const target = '/api/admin/administrators'
  const create = async (name: string) =>
    (await owner.ok<{ administrator: { id: string } }>({ target, body: { name } })).administrator.id
  const mira = await create('mira')
  await owner.ok({ target: `${target}/${mira}/assign`, body: { project_id: project, assigned: true } })
  const jon = await create('jon')
  await owner.ok({ target: `${target}/${jon}/state`, body: { state: 'disabled' } })
}
