/** Version, commit and build time of the running program. `esbuild.config.ts` inserts commit and time; a run from source has neither. Contract §11. */
import type { Health } from '../sdk/contract/health.ts'
import { version } from '../sdk/version.ts'

declare const __BUILD__: Omit<Health['build'], 'version'> | undefined

export const build: Health['build'] =
  typeof __BUILD__ === 'undefined' ? { version, commit: 'source', built_at: null } : { version, ...__BUILD__ }
