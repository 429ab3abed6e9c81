/**
 * Whether the words run the transfer helper itself, which then reads them alone.
 *
 * It starts without the command tree: that would cost a third of its start, and words that it does not know must end in
 * its fixed code, not in a sentence. Its manifest and its help are commands like any other.
 *
 * In the syntax of Node 14, since the launcher holds it. Spec §4.5, §7.
 */
export const startsHelper = (words: readonly string[]): boolean =>
  words[0] === 'helper' &&
  words[1] !== 'manifest' &&
  words[1] !== 'help' &&
  !words.includes('--help') &&
  !words.includes('-h')
