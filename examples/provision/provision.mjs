/**
 * An owner's script: makes the project, the agents, the pairings and the enrolments that a team file names.
 *
 *   npm install ./agent-bridge-0.1.0.tgz      (the file that `npm pack` makes in a clone of agent-bridge)
 *   node provision.mjs http://127.0.0.1:8484 olu team.json prompts < password.txt
 *
 * - It only adds what is missing and mends what differs, so that it may run again after a change of the file, or after it was
 *   cut off. Nothing is deleted: agents that the file does not name are left alone.
 * - Of the file's agents exactly those pairs may talk that it lists.
 * - Each agent without an identity or a pending enrolment gets one: its prompt, which holds a code that works once, goes to
 *   prompts/NAME.txt, readable by you alone. Give it to the agent and remove it. The prompt of a pending enrolment is not issued
 *   again; `bridge admin enrollment revoke`, or waiting until it expires, makes room for another.
 *
 * The password comes on standard input. Each change is a line on standard output. Exit 0: as the file says; 1: refused; 2: wrong
 * arguments or a wrong file, and nothing was changed.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BridgeError, LocalError, Owner } from 'agent-bridge'
import { readTeam, TeamError } from './team.mjs'

const [baseUrl, ownerName, teamFile, promptFolder] = process.argv.slice(2)
const tell = (text) => process.stdout.write(`${text}\n`)
let changes = 0
const changed = (what) => {
  changes += 1
  tell(what)
}

try {
  if (promptFolder === undefined)
    throw new TeamError('usage: node provision.mjs URL OWNER TEAM.json PROMPTS < password')
  const team = readTeam(teamFile)
  const password = readFileSync(0, 'utf8').replace(/\r?\n$/, '')
  await using owner = await Owner.signIn({ baseUrl, name: ownerName, password })
  // Signed out in any case: this session is nobody's when the script has ended.
  await provision(owner, team).finally(() => owner.signIn.close())
  if (changes === 0) tell('nothing to change')
} catch (error) {
  const isTold = error instanceof TeamError || error instanceof BridgeError || error instanceof LocalError
  if (!isTold) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = error instanceof TeamError ? 2 : 1
}

async function provision(owner, team) {
  const project = await projectOf(owner, team.project)
  const agents = await agentsOf(owner, project, team.agents)
  await pair(owner, project, agents, team.pairings)
  await enrol(owner, project, agents)
}

async function projectOf(owner, { name, description = '' }) {
  for await (const project of owner.projects.all()) if (project.name === name) return project
  const project = await owner.projects.create({ name, description })
  changed(`created the project ${name}`)
  return project
}

/** The agents of the file by their names. */
async function agentsOf(owner, project, wanted) {
  const there = new Map()
  for await (const agent of owner.agents.all(project.id)) there.set(agent.name, agent)
  const agents = new Map()
  for (const { name, role = '', description = '', instructions } of wanted) {
    const agent = there.get(name) ?? (await create({ name, role_name: role, description }))
    agents.set(name, agent)
    if (instructions !== undefined) await instruct(owner, project, agent, instructions)
  }
  return agents

  async function create(input) {
    const { agent } = await owner.agents.create(project.id, input)
    changed(`created the agent ${agent.name}`)
    return agent
  }
}

async function instruct(owner, project, { id, name }, wanted) {
  const { instructions } = await owner.agents.instructions(project.id, id)
  if (instructions === wanted) return
  await owner.agents.setInstructions(project.id, id, wanted)
  changed(`instructed ${name}`)
}

/**
 * Every two agents of the file, with a yes or a no. The no is said too: at its enrolment an agent is paired with all others
 * of whom the owner has said nothing.
 */
async function pair(owner, project, agents, pairings) {
  const keyOf = (...two) => two.sort().join(' ')
  const wanted = new Set(pairings.map(([one, other]) => keyOf(agents.get(one).id, agents.get(other).id)))
  const said = new Map()
  for await (const { agent_ids, enabled } of owner.pairings.all(project.id))
    said.set(keyOf(...agent_ids), enabled)
  const all = [...agents.values()]
  for (const [index, one] of all.entries()) {
    for (const other of all.slice(index + 1)) {
      const enabled = wanted.has(keyOf(one.id, other.id))
      if (said.get(keyOf(one.id, other.id)) === enabled) continue
      await owner.pairings.set(project.id, [one.id, other.id], enabled)
      changed(`${enabled ? 'paired' : 'kept apart'} ${one.name} and ${other.name}`)
    }
  }
}

async function enrol(owner, project, agents) {
  const served = new Set()
  for await (const { agent_id, revoked_at } of owner.credentials.all(project.id)) {
    if (revoked_at === null) served.add(agent_id)
  }
  for await (const { agent_id } of owner.enrollments.all(project.id, { state: 'pending' }))
    served.add(agent_id)
  mkdirSync(promptFolder, { recursive: true, mode: 0o700 })
  for (const { id, name } of agents.values()) {
    if (served.has(id)) continue
    const path = join(promptFolder, `${encodeURIComponent(name)}.txt`)
    // The file is there before the code is made: where nothing can be written, no code is lost.
    writeFileSync(path, '', { mode: 0o600 })
    const { prompt, expires_at } = await owner.enrollments.create(project.id, id)
    writeFileSync(path, prompt)
    changed(`enrolment of ${name}: ${path}, works once, until ${expires_at}`)
  }
}
