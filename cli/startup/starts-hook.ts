/**
 * Returns whether the arguments run a hook. It runs without the command tree, because it follows every tool
 * of a harness, and a usage message would exit with 2, which means mail.
 *
 * Uses only syntax of Node 14, because the launcher includes this file.
 */
export const startsHook = (words: readonly string[]): boolean =>
  words[0] === 'hooks' && words[1] === 'run' && !words.includes('--help') && !words.includes('-h')
