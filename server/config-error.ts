/** An unusable setting. The message names the setting, where its value came from, and the accepted values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
