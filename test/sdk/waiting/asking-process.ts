/**
 * A script in a separate process: asks as a profile, and prints the id of the question, then the answer.
 *
 * Arguments: the home of the profiles, the profile, the peer, and the id of a question to resume.
 */
import { openProfile } from '../../../sdk/index.ts'

const [home = '', profile = '', peer = '', resumed] = process.argv.slice(2)
process.stdin.once('end', () => process.exit(3)).resume()
const bridge = await openProfile(profile, { home })
const print = (text: string) => process.stdout.write(`${text}\n`)
const options = { timeout: 120_000 }
const answer =
  resumed === undefined
    ? await bridge.ask(peer, 'Which branch?', { ...options, onAsked: ({ message }) => print(message.id) })
    : await bridge.answerTo(resumed, options)
print(answer.body)
await bridge.close()
process.exit(0)
