/** `bridge help`: prints the help of a command or of a topic. Contract §12. */
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { helpTopics } from '../terminal/help-topics.ts'

const topics = Object.keys(helpTopics).join(', ')

export function helpCommand(context: CliContext, root: Command): Command {
  return command('help', 'bridge help agents')
    .description(`Show the help of a command, or a topic: ${topics}.`)
    .argument('[words...]', `a command, or one of ${topics}`)
    .action(async (words: readonly string[]) => {
      const [word = ''] = words
      const topic = Object.hasOwn(helpTopics, word) && words.length === 1 ? helpTopics[word] : undefined
      if (topic === undefined) commandOf(root, words).outputHelp()
      else {
        const text = await topic(root)
        context.output.result({ topic: word, text }, text)
      }
    })
}

/** Finds the command. An unknown one is a usage error. */
const commandOf = (root: Command, words: readonly string[]): Command =>
  words.reduce((parent, word) => {
    const found = parent.commands.find((child) => child.name() === word)
    if (found !== undefined) return found
    return parent.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' })
  }, root)
