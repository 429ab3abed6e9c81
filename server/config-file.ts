/** The file `config.json` in the data folder. */
import { readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'

/** Returns the settings in the file, none if there is no file. @throws ConfigError */
export function readConfigFile(path: string, known: ReadonlySet<string>): Partial<Record<string, string>> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new ConfigError(`cannot read ${path} (${code})`, { cause: error })
  }
  const parsed = parseObject(path, text)
  for (const key of Object.keys(parsed)) {
    if (!known.has(key))
      throw new ConfigError(`${path}: unknown setting ${key}; known settings: ${[...known].join(', ')}`)
  }
  return Object.fromEntries(Object.entries(parsed).map(([key, each]) => [key, String(each)]))
}

function parseObject(path: string, text: string): object {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed
  } catch (error) {
    throw new ConfigError(`${path} is not valid JSON`, { cause: error })
  }
  throw new ConfigError(`${path} must contain one JSON object`)
}
