/** How one run of a harness gets our hooks and tools, without a change of the user's files. */
import { profilesHome } from '../../../sdk/profile/profile-files.ts'
import type { Choice } from '../install/layout.ts'
import type { OwnFile } from '../install/own-files.ts'
import type { Machine } from '../install/places.ts'

export interface LaunchFacts {
  readonly machine: Machine
  readonly profile: string
  /** Path of the harness's program. */
  readonly harness: string
  /** Folder below BRIDGE_HOME for files of this profile and harness. */
  readonly folder: string
}

export interface LaunchPlan {
  /** Arguments before those of the user. */
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Files below the folder of the facts. */
  readonly files: readonly OwnFile[]
}

export type PlanOf = (facts: LaunchFacts) => LaunchPlan | Promise<LaunchPlan>

export const choiceOf = ({ profile }: LaunchFacts): Choice => ({ mcpProfile: profile, allowsReading: true })

/**
 * Returns the machine as it is if the harness's settings are in this folder. The profiles stay where they
 * are, also if the variable would move them.
 */
export const settingsIn = (machine: Machine, variable: string, folder: string): Machine => {
  const { environment, home } = machine
  const fixed = { BRIDGE_HOME: profilesHome(environment, home) }
  return { ...machine, environment: { ...environment, ...fixed, [variable]: folder } }
}
