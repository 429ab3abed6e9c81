/**
 * Rules for the states of a project.
 *
 * - `active` ↔ `paused`; `active` or `paused` → `archived`; `archived` → `paused`.
 * - When a project is `paused`: agents can read, acknowledge and finish running work, but not start anything
 *   new.
 * - When a project is `archived`: all requests of its agents are refused.
 *
 * Contract §10.
 */
import type { ProjectState } from '../../sdk/contract/owner/projects.ts'
import { ApiError } from '../api-error.ts'

/** Whether a project may change from one state to another. Setting the same state is always allowed. */
export const projectMoves: Record<ProjectState, Record<ProjectState, boolean>> = {
  active: { active: true, paused: true, archived: true },
  paused: { active: true, paused: true, archived: true },
  archived: { active: false, paused: true, archived: true },
}

/** @throws state_conflict */
export function requireProjectMove(from: ProjectState, to: ProjectState): void {
  if (projectMoves[from][to]) return
  throw new ApiError('state_conflict', {
    message: `A project that is ${from} cannot become ${to}. Set it to paused first.`,
    details: { state: from },
  })
}

/** @throws project_paused */
export function requireProjectActive(state: 'active' | 'paused'): void {
  if (state === 'paused') throw new ApiError('project_paused')
}
