/**
 * Completion scripts, generated from the command tree.
 *
 * A script contains the tree as of its generation, so completing a word starts no program. The words of the
 * tree are letters, digits and dashes, so no shell needs quotes around them.
 *
 * Contract §12.
 */
import type { Command } from '../command.ts'

/** Maps each command path to the words that may follow it. The path of `bridge` alone is empty. */
export type WordsByPath = ReadonlyMap<string, readonly string[]>

export function wordsByPath(root: Command): WordsByPath {
  const found = new Map<string, readonly string[]>()
  const visit = (command: Command, path: readonly string[]) => {
    const options = command.options
      .filter(({ hidden }) => !hidden)
      .flatMap(({ long }) => (long ? [long] : []))
    found.set(path.join(' '), [...command.commands.map((child) => child.name()), ...options, '--help'])
    for (const child of command.commands) visit(child, [...path, child.name()])
  }
  visit(root, [])
  return found
}

const cases = (words: WordsByPath): string =>
  [...words].map(([path, next]) => `    '${path}') next='${next.join(' ')}' ;;`).join('\n')

/** All paths except the empty one, as alternatives of a shell pattern. */
const paths = (words: WordsByPath): string =>
  [...words.keys()]
    .filter((path) => path !== '')
    .map((path) => `'${path}'`)
    .join('|')

/** Shell code that finds the command path in the words of the line; the same in bash and zsh. */
const walk = (words: WordsByPath, indent: string): string =>
  [
    'case $word in',
    '  --profile) skip=1; continue ;;',
    '  -*) continue ;;',
    'esac',
    `longer="\${at:+$at }$word"`,
    'case $longer in',
    `  ${paths(words)}) at=$longer ;;`,
    'esac',
  ]
    .map((line) => indent + line)
    .join('\n')

const bash = (words: WordsByPath): string => `_bridge() {
  local at= longer= next= skip=0 word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ $skip = 1 ]; then skip=0; continue; fi
${walk(words, '    ')}
  done
  case $at in
${cases(words)}
  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _bridge bridge agent-bridge`

const zsh = (words: WordsByPath): string => `#compdef bridge agent-bridge
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_bridge() {
  local at= longer= next= skip=0 word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [ $skip = 1 ]; then skip=0; continue; fi
${walk(words, '    ')}
  done
  case $at in
${cases(words)}
  esac
  compadd -- \${=next} || _files
}
if [ "$funcstack[1]" = _bridge ]; then _bridge "$@"; else compdef _bridge bridge agent-bridge; fi`

const fish = (words: WordsByPath): string => `function __bridge_at
  set -l at
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
      continue
    end
    switch $word
      case --profile
        set skip 1
      case '-*'
      case '*'
        switch (string join ' ' $at $word)
          case ${paths(words).replaceAll('|', ' ')}
            set -a at $word
        end
    end
  end
  string join ' ' bridge $at
end
${[...words]
  .map(
    ([path, next]) =>
      `complete -c bridge -n 'test (__bridge_at) = "${`bridge ${path}`.trimEnd()}"' -a '${next.join(' ')}'`,
  )
  .join('\n')}
complete -c agent-bridge -w bridge`

export const completionScripts = { bash, zsh, fish } as const
