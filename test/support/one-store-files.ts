/** Finds the marks of `one-store.ts`, for the settings of Vitest and for the test of the marks. */
import { globSync, readFileSync } from 'node:fs'

export interface Mark {
  readonly file: string
  readonly shownBy: string
  readonly isWholeFile: boolean
}

const found = (root: string, mark: RegExp) =>
  globSync('test/**/*.test.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(`${root}/${file}`, 'utf8').matchAll(mark)].map(([, ...words]) => ({ file, words })),
  )

/** The marks of what only SQLite does. */
export const sqliteMarksIn = (root: string): Mark[] =>
  found(root, /\b(sqliteOnly|onSqlite)\('([^']*)'\)/g).map(({ file, words: [word, shownBy = ''] }) => ({
    file,
    shownBy,
    isWholeFile: word === 'sqliteOnly',
  }))

/** Files that a run on this store leaves out. */
export const leftOut = (root: string, store: string | undefined): string[] =>
  store === 'postgres'
    ? sqliteMarksIn(root)
        .filter(({ isWholeFile }) => isWholeFile)
        .map(({ file }) => file)
    : found(root, /^postgresOnly\(\)$/gm).map(({ file }) => file)
