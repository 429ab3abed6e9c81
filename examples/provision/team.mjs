/** Reads the team file and checks all of it before the script changes anything. */
import { readFileSync } from 'node:fs'

/** The file or the arguments are wrong. The message is for the person who wrote them. */
export class TeamError extends Error {}

/** Returns the content of a team file. @throws TeamError */
export function readTeam(path) {
  const team = parsed(path)
  const isNamed = (each) => typeof each?.name === 'string' && each.name !== ''
  if (!isNamed(team?.project)) throw new TeamError(`${path}: "project" needs a "name"`)
  if (!Array.isArray(team.agents) || team.agents.length === 0 || !team.agents.every(isNamed)) {
    throw new TeamError(`${path}: "agents" is a list in which each has a "name"`)
  }
  const names = new Set(team.agents.map(({ name }) => name))
  if (names.size < team.agents.length) throw new TeamError(`${path}: two agents have the same name`)
  const { pairings = [] } = team
  const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && pair[0] !== pair[1]
  if (!Array.isArray(pairings) || !pairings.every(isPair)) {
    throw new TeamError(`${path}: "pairings" is a list of pairs of names`)
  }
  const unknown = pairings.flat().find((name) => !names.has(name))
  if (unknown !== undefined)
    throw new TeamError(`${path}: "pairings" names "${unknown}", which is not in "agents"`)
  return { ...team, pairings }
}

function parsed(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new TeamError(`${path}: ${error.message}`)
  }
}
