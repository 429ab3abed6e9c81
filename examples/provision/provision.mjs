/**
 * Script for an owner. It creates the project, the agents, the pairings and the enrolments of a team file.
 *
 *   npm install ./agent-bridge-0.1.0.tgz      (the file that `npm pack` makes in a clone of agent-bridge)
 *   node provision.mjs http://127.0.0.1:8484 olu team.json prompts < password.txt
 *
 * - The script adds missing items and changes those that differ. So you can run it again after a change of
 *   the file or after an interruption. It deletes nothing. Agents that are not in the file, and fields that the
 *   file leaves out, stay as they are.
 * - It enables exactly the pairings of the file between the agents of the file, and disables all others.
 * - If an agent has no identity and no pending enrolment, the script creates an enrolment. It writes the
 *   prompt, which holds a code that works once, to prompts/NAME.txt with mode 0600. Give the prompt to the
 *   agent and delete the file.
 * - The script does not issue a second prompt for a pending enrolment. To get another prompt, run
 *   `agent-bridge admin enrollment revoke` or wait until the enrolment expires, then run the script again.
 *
 * It reads the password from standard input and prints one line for each change.
 *
 * Exit codes:
 * - `0`: everything is as in the file.
 * - `1`: the node refused a request or could not be reached.
 * - `2`: the arguments or the file are wrong, and nothing was changed.
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
  const owner = await Owner.signIn({ baseUrl, name: ownerName, password })
  try {
    // Sign out in any case, because no one uses this session after the script ends.
    await provision(owner, team).finally(() => owner.signIn.close())
  } finally {
    await owner.close()
  }
  if (changes === 0) tell('nothing to change')
} catch (error) {
  const isExpected = error instanceof TeamError || error instanceof BridgeError || error instanceof LocalError
  if (!isExpected) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = error instanceof TeamError ? 2 : 1
}

async function provision(owner, team) {
  const project = await projectOf(owner, team.project)
  const agents = await agentsOf(owner, project, team.agents)
  await pair(owner, project, agents, team.pairings)
  await enrol(owner, project, agents)
}

async function projectOf(owner, { name, description }) {
  const wanted = given({ description })
  for await (const project of owner.projects.all()) {
    if (project.name !== name) continue
    return adjusted(project, wanted, 'project', (change) => owner.projects.change(project.id, change))
  }
  const project = await owner.projects.create({ name, ...wanted })
  changed(`created the project ${name}`)
  return project
}

/** Returns the fields that the file contains. */
function given(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Changes the fields that differ from the file. Returns the item as it is then. */
async function adjusted(item, wanted, kind, change) {
  const differing = Object.entries(wanted).filter(([field, value]) => item[field] !== value)
  if (differing.length === 0) return item
  const result = await change(Object.fromEntries(differing))
  const fields = differing.map(([field]) => (field === 'role_name' ? 'role' : field))
  changed(`changed the ${fields.join(' and the ')} of the ${kind} ${item.name}`)
  return result
}

/** Returns the agents of the file by name. Creates missing ones and changes those that differ. */
async function agentsOf(owner, project, wanted) {
  const existing = new Map()
  for await (const agent of owner.agents.all(project.id)) existing.set(agent.name, agent)
  const agents = new Map()
  for (const { name, role, description, instructions } of wanted) {
    const fields = given({ role_name: role, description })
    const known = existing.get(name)
    const agent = known === undefined ? await create({ name, ...fields }) : await adjust(known, fields)
    agents.set(name, agent)
    if (instructions !== undefined) await instruct(owner, project, agent, instructions)
  }
  return agents

  async function create(input) {
    const { agent } = await owner.agents.create(project.id, input)
    changed(`created the agent ${agent.name}`)
    return agent
  }

  function adjust(agent, fields) {
    return adjusted(agent, fields, 'agent', (change) => owner.agents.change(project.id, agent.id, change))
  }
}

async function instruct(owner, project, { id, name }, wanted) {
  const { instructions } = await owner.agents.instructions(project.id, id)
  if (instructions === wanted) return
  await owner.agents.setInstructions(project.id, id, wanted)
  changed(`instructed ${name}`)
}

/**
 * Enables or disables the pairing of every two agents of the file. The script must disable the others
 * explicitly, because the node pairs a new agent with all agents for which the owner has not set a pairing.
 */
async function pair(owner, project, agents, pairings) {
  const keyOf = (...two) => two.sort().join(' ')
  const wanted = new Set(pairings.map(([one, other]) => keyOf(agents.get(one).id, agents.get(other).id)))
  const current = new Map()
  for await (const { agent_ids, enabled } of owner.pairings.all(project.id))
    current.set(keyOf(...agent_ids), enabled)
  const all = [...agents.values()]
  for (const [index, one] of all.entries()) {
    for (const other of all.slice(index + 1)) {
      const enabled = wanted.has(keyOf(one.id, other.id))
      if (current.get(keyOf(one.id, other.id)) === enabled) continue
      await owner.pairings.set(project.id, [one.id, other.id], enabled)
      changed(`${enabled ? 'paired' : 'kept apart'} ${one.name} and ${other.name}`)
    }
  }
}

async function enrol(owner, project, agents) {
  const enrolled = new Set()
  for await (const { agent_id, revoked_at } of owner.credentials.all(project.id)) {
    if (revoked_at === null) enrolled.add(agent_id)
  }
  for await (const { agent_id } of owner.enrollments.all(project.id, { state: 'pending' }))
    enrolled.add(agent_id)
  mkdirSync(promptFolder, { recursive: true, mode: 0o700 })
  for (const { id, name } of agents.values()) {
    if (enrolled.has(id)) continue
    const path = join(promptFolder, `${encodeURIComponent(name)}.txt`)
    // Create the file before the code. If the file cannot be written, no code is issued and lost.
    writeFileSync(path, '', { mode: 0o600 })
    const { prompt, expires_at } = await owner.enrollments.create(project.id, id)
    writeFileSync(path, prompt)
    changed(`enrolment of ${name}: ${path}, works once, until ${expires_at}`)
  }
}
