/** The licences of the packages whose code is inside the bundles. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

/** Returns one text with all licences. @throws if that of a package is not known */
export function licencesOf(root: string, metafiles: readonly Metafile[]): string {
  const paths = metafiles.flatMap(({ inputs }) => Object.keys(inputs))
  const packages = new Set(
    paths.flatMap((path) => path.match(/(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []),
  )
  return [...packages]
    .sort()
    .map((name) => `${name}\n\n${licenceOf(join(root, 'node_modules', name)).trim()}\n`)
    .join('\n')
}

function licenceOf(folder: string): string {
  const textOf = (pattern: string): string | undefined => {
    const [file] = globSync(pattern, { cwd: folder })
    return file === undefined ? undefined : readFileSync(join(folder, file), 'utf8')
  }
  const file = textOf('{LICENSE,LICENCE,license}*')
  if (file !== undefined) return file
  const readme = textOf('{README,Readme,readme}*') ?? ''
  if (readme.includes(permission)) return readme.slice(readme.search(/^#+ *licen[cs]e/im))
  const { license, author } = JSON.parse(textOf('package.json') ?? '{}')
  if (license === 'MIT' && author) return `Copyright (c) ${author.name ?? author}\n\n${mit}`
  throw new Error(`${folder} is bundled, and its licence is not known`)
}

const permission = 'Permission is hereby granted'

/** For packages that say MIT in their package.json and nothing more. */
const mit = `${permission}, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`
