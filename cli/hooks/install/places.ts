/** Folders where the harnesses keep their settings. */
import { isAbsolute, join } from 'node:path'
import type { Environment } from '../../context.ts'

/** Facts about this machine that the installation depends on. */
export interface Machine {
  /** The user's home folder. */
  readonly home: string
  readonly environment: Environment
  /** Absolute path of Node. */
  readonly node: string
  /** Absolute path of `bridge`. */
  readonly program: string
}

export interface Place {
  readonly folder: string
  /** Whether a variable names the folder. Then it may be outside of the home. */
  readonly isNamed: boolean
}

/** Returns the folder that the harness reads. */
export function placeOf(harness: string, { home, environment }: Machine): Place {
  const { variable, below, usual } = places[harness] ?? { variable: '', below: '', usual: `.${harness}` }
  const named = environment[variable]
  return named !== undefined && isAbsolute(named)
    ? { folder: join(named, below), isNamed: true }
    : { folder: join(home, usual), isNamed: false }
}

interface Known {
  readonly variable: string
  /** Path below the folder that the variable names. */
  readonly below: string
  /** Path below the home. */
  readonly usual: string
}

const places: Readonly<Record<string, Known>> = {
  claude: { variable: 'CLAUDE_CONFIG_DIR', below: '', usual: '.claude' },
  codex: { variable: 'CODEX_HOME', below: '', usual: '.codex' },
  gemini: { variable: 'GEMINI_CLI_HOME', below: '.gemini', usual: '.gemini' },
  opencode: { variable: 'XDG_CONFIG_HOME', below: 'opencode', usual: '.config/opencode' },
  copilot: { variable: 'COPILOT_HOME', below: '', usual: '.copilot' },
}
