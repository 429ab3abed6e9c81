/** The sources of the owner's page have no way to write HTML text, to run text, or to style by an attribute. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const page = join(import.meta.dirname, '../../../server/portal/page')
const files = globSync('**/*.{ts,tsx}', { cwd: page })

const ways =
  /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser|\sstyle=|setAttribute\('(style|on)/i

/** Code alone: a comment may name what the code must not do. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

test('no source of the page has one of them', () => {
  expect(files.length).toBeGreaterThan(40)
  for (const file of files)
    expect([file, codeOf(readFileSync(join(page, file), 'utf8')).match(ways)]).toEqual([file, null])
})

test.each([
  'each.innerHTML = text',
  '<p dangerouslySetInnerHTML={{ __html: text }} />',
  `<p style={{ color }} />`,
  "each.setAttribute('onclick', text)",
])('the check finds %s', (text) => expect(codeOf(text)).toMatch(ways))
