/**
 * Sentences of comments that are worth a second look: they open with a clause in place of an actor, use a private idiom
 * where the field has a word, or are long.
 *
 * `.github/CONTRIBUTING.md`, section Writing, has the rules in words.
 */
export interface Found {
  readonly line: number
  readonly reason: string
  readonly sentence: string
}

const longestWords = 32
const openers = /^(What|Who|Whoever|Whatever|Whose|Of|That|By it|To it|From it|Neither|Nobody|Nothing)\b/
const idioms = [
  /\bany ?more\b/i,
  /\ball the same\b/i,
  /\bcame? to nothing\b/i,
  /\b(?:goes|go|went|gone) on with\b/i,
  /\b(?:is|are|was|were) told\b/i,
  /\bcomes? to (?:its|an) end\b/i,
  /\bfor ever\b/i,
  /\bwhoever\b/i,
  /\bis (?:away|over)\b/i,
]

export function worthASecondLook(source: string): Found[] {
  return sentencesOf(source).flatMap(({ line, sentence }) => {
    const reason = reasonFor(sentence)
    return reason === undefined ? [] : [{ line, reason, sentence }]
  })
}

function reasonFor(sentence: string): string | undefined {
  const opener = openers.exec(sentence)?.[0]
  if (opener !== undefined) return `opens with "${opener}": name the actor first`
  for (const idiom of idioms) {
    const words = idiom.exec(sentence)?.[0]
    if (words !== undefined) return `says "${words}": use the field's word`
  }
  const length = sentence.split(/\s+/).length
  if (length > longestWords) return `has ${length} words: make one claim per sentence`
  if ((sentence.match(/[;:](?:\s|$)/g) ?? []).length > 1) return 'has two semicolons or colons'
  return undefined
}

/** The sentences of more than three words in the comments of a source, with the line where their paragraph begins. */
export function sentencesOf(source: string): { line: number; sentence: string }[] {
  const found: { line: number; sentence: string }[] = []
  let paragraph: string[] = []
  let begins = 0
  const end = () => {
    for (const piece of paragraph.join(' ').split(/(?<=[.!?])\s+(?=[A-Z`"'])/)) {
      const sentence = piece.trim()
      if (sentence.split(/\s+/).length > 3) found.push({ line: begins + 1, sentence })
    }
    paragraph = []
  }
  for (const [index, text] of commentLines(source).entries()) {
    if (text === '') end()
    else {
      if (paragraph.length === 0) begins = index
      paragraph.push(text)
    }
  }
  end()
  return found
}

/** One entry per line: the text of its comment, or nothing. */
function commentLines(source: string): string[] {
  let isInside = false
  return source.split('\n').map((line) => {
    const text = line.trim()
    const isComment = isInside || text.startsWith('/*') || text.startsWith('//')
    if (isInside || text.startsWith('/*')) isInside = !text.includes('*/')
    if (!isComment) return ''
    return text
      .replace(/^(?:\/\*\*?|\/\/|\*(?!\/))/, '')
      .replace(/\*\/$/, '')
      .replace(/^\s*-\s*/, '')
      .trim()
  })
}
