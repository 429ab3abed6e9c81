/**
 * A script asks a peer one question, waits for the answer and prints it.
 *
 *   npm install ./agent-bridge-0.1.0.tgz      (the file that `npm pack` makes in a clone of agent-bridge)
 *   bridge enroll --url http://127.0.0.1:8484 --profile ada      (the code of the prompt on standard input)
 *   BRIDGE_PROFILE=ada node ask.mjs ben 'Which branch is the release?' [seconds]
 *
 * The answer is on standard output, what a person wants to know on standard error. Exit 0: answered; 1: refused, with the
 * reason; 2: wrong arguments; 4: no answer in time (600 seconds when none are given).
 *
 * Only the answer is acknowledged. Other mail stays for the next listener. After a crash `bridge.answerTo(id)` resumes the
 * wait in a script, and `bridge ask --resume ID` on a terminal.
 */
import { BridgeError, LocalError, NoAnswer, openProfile } from 'agent-bridge'

const [peer, question, seconds = '600'] = process.argv.slice(2)
if (!peer || !question || !(Number(seconds) > 0)) {
  process.stderr.write('usage: node ask.mjs PEER QUESTION [SECONDS]\n')
  process.exit(2)
}

try {
  await using bridge = await openProfile()
  const answer = await bridge.ask(peer, question, {
    timeout: Number(seconds) * 1000,
    onAsked: ({ message }) => process.stderr.write(`asked ${peer} as ${message.id}\n`),
  })
  process.stdout.write(`${answer.body}\n`)
} catch (error) {
  // Both families of errors have a code that stays; the words may change. Anything else is a bug of this script.
  if (!(error instanceof BridgeError || error instanceof LocalError)) throw error
  const isLate = error instanceof NoAnswer
  process.stderr.write(
    isLate
      ? `no answer yet; bridge status ${error.questionId} tells whether it was offered\n`
      : `${error.code}: ${error.message}\n`,
  )
  process.exitCode = isLate ? 4 : 1
}
