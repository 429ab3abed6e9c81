/**
 * Lanes: what has one writer at a time. Each write names the lanes whose rows it changes.
 *
 * A project is one lane, named by its id. The installation itself is the lane `node`: people, their sessions,
 * links, hosts, and the records of the node. The quota of packages is the lane `packages`, because it is one
 * sum over all projects. SQLite has one writer anyway and ignores the names.
 */
export type Lane = string

/** One lane, or several. None for a unit that makes no ids and only renews or removes single rows. */
export type Lanes = Lane | readonly Lane[]

export const nodeLane: Lane = 'node'

/** The room that open packages of all projects have reserved. */
export const packagesLane: Lane = 'packages'

/** Whether a lane is a project, whose id it is. */
export const isProject = (lane: Lane): boolean => lane !== nodeLane && lane !== packagesLane

/** Every lane there is, for work over all projects. */
export const everyLane: Lane = '*'

export const noLane: Lanes = []
