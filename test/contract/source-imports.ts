/**
 * What a source file imports, read from its text: TypeScript 7 has no compiler API to ask.
 *
 * Counts on Biome's formatting: a static import begins its line, a specifier stands in single quotes.
 */
import { posix } from 'node:path'

export interface SourceFile {
  /** From the top of the repository, with `/`. */
  readonly path: string
  /** Without comments. */
  readonly code: string
  readonly imports: readonly Import[]
}

export interface Import {
  /** A path from the top of the repository, a `node:` module, or a package's name. */
  readonly target: string
  readonly kind: 'import' | 'export' | 'lazy'
  /** Erased before it runs. */
  readonly isType: boolean
  /** What stands between the keyword and `from`. */
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
