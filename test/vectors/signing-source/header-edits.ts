/** Edits of the headers just before they are sent. */
import type { Header } from './vector.ts'

export const without =
  (...names: string[]) =>
  (headers: readonly Header[]): readonly Header[] =>
    headers.filter(([name]) => !names.includes(name))

export const replaced =
  (name: string, value: string) =>
  (headers: readonly Header[]): readonly Header[] =>
    headers.map((header) => (header[0] === name ? [name, value] : header))

/** Adds the same value a second time, with the name in lower case. */
export const twice =
  (name: string) =>
  (headers: readonly Header[]): readonly Header[] =>
    headers.flatMap((header): Header[] =>
      header[0] === name ? [header, [name.toLowerCase(), header[1]]] : [header],
    )

export const added =
  (name: string, value: string) =>
  (headers: readonly Header[]): readonly Header[] => [...headers, [name, value]]
