/** Rules of the reviewer. Each rule checks one line. Replace them with your own. */

const rules = [
  { says: 'a merge was not finished', breaks: (line) => /^(<{7}|>{7}|={7})( |$)/.test(line) },
  { says: 'a private key', breaks: (line) => line.includes('PRIVATE KEY-----') },
  { says: 'a debugger statement is left', breaks: (line) => /^\s*debugger\b/.test(line) },
  { says: 'a test is switched off', breaks: (line) => /\b(test|it|describe)\.(only|skip)\(/.test(line) },
  { says: 'white space at the end', breaks: (line) => /[ \t]$/.test(line) },
  { says: 'longer than 120 characters', breaks: (line) => line.length > 120 },
]

/**
 * Reviews the added lines of a unified diff, or all lines of a file.
 *
 * @returns {{ lines: number, findings: string[] }} the number of lines that were reviewed, and one text per
 *   finding
 */
export function review(text) {
  const lines = /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) ? addedLines(text) : fileLines(text)
  const findings = lines.flatMap(({ at, line }) =>
    rules.filter(({ breaks }) => breaks(line)).map(({ says }) => `${at}: ${says}`),
  )
  return { lines: lines.length, findings }
}

function fileLines(text) {
  const lines = text.trim() === '' ? [] : text.replace(/\n$/, '').split('\n')
  return lines.map((line, index) => ({ at: `line ${index + 1}`, line }))
}

/**
 * Returns the added lines with their numbers in the new file. The lengths in a hunk header show where the
 * hunk ends.
 */
function addedLines(diff) {
  const added = []
  let file = '?'
  let number = 0
  let left = { old: 0, new: 0 }
  for (const line of diff.split('\n')) {
    const hunk = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
    if (hunk) {
      number = Number(hunk[2])
      left = { old: Number(hunk[1] ?? 1), new: Number(hunk[3] ?? 1) }
    } else if (left.old === 0 && left.new === 0) {
      file = /^\+\+\+ (?:b\/)?(\S+)/.exec(line)?.[1] ?? file
    } else if (line.startsWith('+')) {
      added.push({ at: `${file}:${number}`, line: line.slice(1) })
      number += 1
      left.new -= 1
    } else if (line.startsWith('-')) {
      left.old -= 1
    } else if (!line.startsWith('\\')) {
      number += 1
      left.old -= 1
      left.new -= 1
    }
  }
  return added
}
