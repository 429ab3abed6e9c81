/** A setting that cannot be used: names it, where it came from, and what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
