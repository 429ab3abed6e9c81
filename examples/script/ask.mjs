/**
 * A script asks a peer one question, waits for the answer and prints it.
 *
 *   npm install ./agent-bridge-0.1.0.tgz      (the file that `npm pack` makes in a clone of agent-bridge)
 *   agent-bridge enroll --url http://127.0.0.1:8484 --profile ada      (the code of the prompt on standard input)
 *   BRIDGE_PROFILE=ada node ask.mjs ben 'Which branch is the release?' [seconds]
 *
 * It prints the answer on standard output, and everything else on standard error. It waits 600 seconds if no
 * time is given.
 *
 * Exit codes:
 * - `0`: the peer answered.
 * - `1`: the node refused a request or could not be reached.
 * - `2`: the arguments are wrong.
 * - `4`: no answer came in time.
 *
 * The script acknowledges only the answer. Other messages stay in the inbox for the next listener. After a
 * crash, resume the wait with `bridge.answerTo(id)` in a script, or with `agent-bridge ask --resume ID` in a
 * terminal.
 */
import { BridgeError, LocalError, NoAnswer, openProfile } from 'agent-bridge'

const [peer, question, seconds = '600'] = process.argv.slice(2)
if (!peer || !question || !(Number(seconds) > 0)) {
  process.stderr.write('usage: node ask.mjs PEER QUESTION [SECONDS]\n')
  process.exit(2)
}

try {
  const bridge = await openProfile()
  try {
    const answer = await bridge.ask(peer, question, {
      timeout: Number(seconds) * 1000,
      onAsked: ({ message }) => process.stderr.write(`asked ${peer} as ${message.id}\n`),
    })
    process.stdout.write(`${answer.body}\n`)
  } finally {
    await bridge.close()
  }
} catch (error) {
  // Both error classes have a stable code. The text of a message may change. Any other error is a bug in this
  // script.
  if (!(error instanceof BridgeError || error instanceof LocalError)) throw error
  const isLate = error instanceof NoAnswer
  process.stderr.write(
    isLate
      ? `no answer yet; agent-bridge status ${error.questionId} shows whether it was offered\n`
      : `${error.code}: ${error.message}\n`,
  )
  process.exitCode = isLate ? 4 : 1
}
