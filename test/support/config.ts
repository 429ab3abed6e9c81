import { type Config, readConfig } from '../../server/config.ts'
import type { SettingName } from '../../server/settings.ts'
import { storeSettings } from './postgres.ts'

/** The settings of a server, or of a command on the host, for a data folder and the store of the run. */
export const testConfig = (data: string, settings: Partial<Record<SettingName, string>> = {}): Config =>
  readConfig({ data, ...storeSettings(data), ...settings }, {})
