/**
 * The imports of a source file, parsed from its text, because TypeScript 7 has no compiler API.
 *
 * Relies on Biome's formatting: a static import begins its line, and a specifier is in single quotes.
 */
import { posix } from 'node:path'

export interface SourceFile {
  /** Relative to the root of the repository, with `/`. */
  readonly path: string
  /** The text without comments. */
  readonly code: string
  readonly imports: readonly Import[]
}

export interface Import {
  /** A path relative to the root of the repository, a `node:` module, or the name of a package. */
  readonly target: string
  readonly kind: 'import' | 'export' | 'lazy'
  /** A type import, which is erased before it runs. */
  readonly isType: boolean
  /** The text between the keyword and `from`. */
  readonly clause: string
}

const comments = /^[ \t]*\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm
const statements = /^(import|export)\b([\w\s{},*$]*?)(?:\bfrom\s+|(?<=import\s+))'([^'\n]+)'/gm
const calls = /(typeof\s+)?\bimport\(\s*'([^'\n]+)'\s*\)(\.[A-Z])?/g

export function parseSource(path: string, text: string): SourceFile {
  const code = text.replace(comments, '')
  const fixed = [...code.matchAll(statements)].map(([, keyword, clause = '', specifier = '']) => ({
    target: targetOf(path, specifier),
    kind: keyword === 'export' ? ('export' as const) : ('import' as const),
    isType: isTypeClause(clause),
    clause: clause.trim(),
  }))
  const lazy = [...code.matchAll(calls)].map(([, asked, specifier = '', member]) => ({
    target: targetOf(path, specifier),
    kind: 'lazy' as const,
    isType: asked !== undefined || member !== undefined,
    clause: '',
  }))
  return { path, code, imports: [...fixed, ...lazy] }
}

/** `import type …`, or braces in which every name is a `type`. */
function isTypeClause(clause: string): boolean {
  if (/^\s*type\s+[{*\w]/.test(clause)) return true
  const names = /^\s*\{([^}]*)\}\s*$/.exec(clause)?.[1]?.split(',') ?? []
  const given = names.map((name) => name.trim()).filter((name) => name !== '')
  return given.length > 0 && given.every((name) => name.startsWith('type '))
}

function targetOf(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier)
  if (specifier.startsWith('node:')) return specifier
  return specifier.match(/^(?:@[^/]+\/)?[^/]+/)?.[0] ?? specifier
}
