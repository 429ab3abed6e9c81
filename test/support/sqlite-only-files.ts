/** Finds the marks of `sqlite-only.ts`, for the settings of Vitest and for the test of the marks. */
import { globSync, readFileSync } from 'node:fs'

export interface Mark {
  readonly file: string
  readonly shownBy: string
  readonly isWholeFile: boolean
}

export const marksIn = (root: string): Mark[] =>
  globSync('test/**/*.test.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(`${root}/${file}`, 'utf8').matchAll(/\b(sqliteOnly|onSqlite)\('([^']*)'\)/g)].map(
      ([, word, shownBy = '']) => ({ file, shownBy, isWholeFile: word === 'sqliteOnly' }),
    ),
  )

/** Files that a run on this store leaves out. */
export const leftOut = (root: string, store: string | undefined): string[] =>
  store === 'postgres'
    ? marksIn(root)
        .filter(({ isWholeFile }) => isWholeFile)
        .map(({ file }) => file)
    : []
