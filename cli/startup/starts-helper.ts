/**
 * Returns whether the arguments run the transfer helper itself, which parses them without the command tree.
 *
 * Loading the command tree would cost a third of the helper's start. Unknown arguments must end in the
 * helper's fixed error code, not in a usage message. `helper manifest` and `helper --help` are ordinary
 * commands.
 *
 * Uses only syntax of Node 14, because the launcher includes this file. Spec §4.5, §7.
 */
export const startsHelper = (words: readonly string[]): boolean =>
  words[0] === 'helper' &&
  words[1] !== 'manifest' &&
  words[1] !== 'help' &&
  !words.includes('--help') &&
  !words.includes('-h')
