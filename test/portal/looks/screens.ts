/** Every screen of a signed-in owner, by its address in the world. */
import type { PortalWorld } from '../world.ts'

export interface Screen {
  readonly name: string
  readonly path: (world: PortalWorld) => string
  /** False if the screen has times of this machine, so that no two pictures are equal. */
  readonly isPictured?: false
}

const inProject =
  (path: string, idOf: (world: PortalWorld) => string = () => '') =>
  (world: PortalWorld) =>
    `/projects/${world.project.id}${path}${idOf(world)}`

export const screens: readonly Screen[] = [
  { name: 'projects', path: () => '/' },
  { name: 'overview', path: inProject('') },
  { name: 'agents', path: inProject('/agents') },
  { name: 'agent', path: inProject('/agents/', ({ ids }) => ids.ada) },
  { name: 'agent-long-name', path: inProject('/agents/', ({ ids }) => ids.long) },
  { name: 'pairs', path: inProject('/pairs') },
  { name: 'conversations', path: inProject('/conversations') },
  { name: 'conversation', path: inProject('/conversations/', ({ talk }) => talk.adaBen) },
  { name: 'conversation-owner', path: inProject('/conversations/', ({ talk }) => talk.adaOwner) },
  { name: 'conversation-sealed', path: inProject('/conversations/', ({ talk }) => talk.sealed) },
  { name: 'conversation-gap', path: inProject('/conversations/', ({ talk }) => talk.gap) },
  { name: 'tasks', path: inProject('/tasks') },
  { name: 'task', path: inProject('/tasks/', ({ tasks }) => tasks.completed) },
  { name: 'task-stopping', path: inProject('/tasks/', ({ tasks }) => tasks.stopping) },
  { name: 'transfers', path: inProject('/transfers') },
  { name: 'transfer', path: inProject('/transfers/', ({ transfers }) => transfers.verified) },
  { name: 'audit', path: inProject('/audit') },
  { name: 'project-settings', path: inProject('/settings') },
  { name: 'node-audit', path: () => '/audit', isPictured: false },
  { name: 'people', path: () => '/people' },
  { name: 'node', path: () => '/node' },
  { name: 'settings', path: () => '/settings' },
  { name: 'not-found', path: inProject('/nowhere') },
]
