/**
 * The contract for the bundles of clients, as the plain values that it is.
 *
 * A client needs method, path and the required fields of an endpoint; the rest of a schema is the server's to
 * check. Building every schema at each start would cost more than all else that a short command does, so each
 * module of `sdk/contract` is run here, once, and written down. Functions are left out: a client that imports
 * one fails the build. `sdk/contract/helper` and `spelling.ts` have no schemas and stay as they are.
 */
import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'
import { errors } from './sdk/contract/errors.ts'

/** Schemas of an endpoint. A client reads only whether they exist and which fields they require. */
const schemaParts: ReadonlySet<string> = new Set(['params', 'query', 'body', 'response'])

/** Parts of an endpoint that only the server and the documents read. */
const serverParts: ReadonlySet<string> = new Set(['summary', 'errors', 'cookie', 'fresh', 'ownerOnly'])

/** Builds of a page leave out `meaning`, the sentence of an error in the documents. A page has its own words. */
export const contractAsValues = (root: string, options: { readonly forPage?: boolean } = {}): Plugin => ({
  name: 'contract-as-values',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]sdk[\\/]contract[\\/].*\.ts$/ }, async ({ path }) => {
      if (/[\\/]contract[\\/](helper[\\/]|spelling\.ts$)/.test(path)) return undefined
      const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>
      const exported = Object.entries(module).filter(([, value]) => isWritable(value))
      const lines = exported.map(
        ([name, value]) =>
          `export const ${name} = ${written(options.forPage ? withoutMeanings(value) : value, relative(root, path))}`,
      )
      return { contents: `${lines.join('\n')}\n`, loader: 'js' }
    })
  },
})

const withoutMeanings = (value: unknown): unknown =>
  value === errors
    ? Object.fromEntries(Object.entries(errors).map(([code, { meaning: _, ...rest }]) => [code, rest]))
    : value

/**
 * Returns whether clients need the value. They need no functions, which make schemas, and no maps of schemas.
 */
const isWritable = (value: unknown): boolean => typeof value !== 'function' && !(value instanceof Map)

function written(value: unknown, where: string): string {
  if (value instanceof RegExp) return String(value)
  if (value instanceof Set) return `/* @__PURE__ */ new Set(${written([...value], where)})`
  if (Array.isArray(value)) return `[${value.map((each) => written(each, where)).join(',')}]`
  if (typeof value === 'object' && value !== null) return writtenObject(value, where)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') throw new Error(`${where}: a function stands within a value`)
  return JSON.stringify(value)
}

function writtenObject(value: object, where: string): string {
  const isEntry = 'method' in value && 'path' in value && 'response' in value
  const fields = Object.entries(value)
    .filter(([name, each]) => each !== undefined && !(isEntry && serverParts.has(name)))
    .map(([name, each]) => {
      const kept = isEntry && schemaParts.has(name) ? required(each as { required?: unknown }) : each
      return `${JSON.stringify(name)}:${written(kept, where)}`
    })
  return `{${fields.join(',')}}`
}

const required = (schema: { readonly required?: unknown }): object =>
  schema.required === undefined ? {} : { required: schema.required }
