/** Why a node cannot serve beside another one of its database. */
import type { SharedSettings } from '../nodes.ts'
import type { NodeProcess } from './alive.ts'

export interface Neighbour extends NodeProcess {
  readonly name: string
  /** 1 for a command that allows no node. */
  readonly alone: number
  /** Null in the row of such a command, or of an older program. */
  readonly portal_origin: string | null
  readonly packages: string | null
}

/** A node as it joins. Without settings it allows no other. */
export interface Arrival {
  readonly name: string
  readonly settings: SharedSettings | undefined
}

/** Returns the reason with its remedy. Undefined if both may serve. */
export function conflictOf({ name, settings }: Arrival, other: Neighbour): string | undefined {
  const { portal_origin: origin, packages } = other
  const there = `node ${other.name} (process ${other.pid} on ${hostOf(other)})`
  if (settings === undefined || other.alone === 1 || origin === null || packages === null)
    return `another server (process ${other.pid} on ${hostOf(other)}) serves this database; stop it first`
  if (name === other.name)
    return `${there} is alive and has the same node_name; give each node a name of its own`
  if (settings.packages === 'folder' || packages === 'folder')
    return `packages is folder at ${packages === 'folder' ? there : 'this node'}, which the other nodes cannot read; set packages to the same s3://bucket/prefix at each node, or package_bytes to 0`
  if (settings.packages !== packages)
    return `packages is ${settings.packages} here and ${packages} at ${there}; set it to the same store at each node`
  if (settings.portalOrigin !== origin)
    return `portal_origin is ${shown(settings.portalOrigin)} here and ${shown(origin)} at ${there}; set it to the same origin at each node`
  return undefined
}

const hostOf = ({ machine }: NodeProcess): string => machine.split(' ')[0] ?? machine

const shown = (origin: string): string => origin || 'not set'
