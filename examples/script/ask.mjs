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
 * Only the answer is acknowledged: what else comes meanwhile stays unacknowledged, and comes again to whoever listens.
 */
import { BridgeError, LocalError, openProfile } from 'agent-bridge'

const [peer, question, seconds = '600'] = process.argv.slice(2)
if (!peer || !question || !(Number(seconds) > 0)) {
  process.stderr.write('usage: node ask.mjs PEER QUESTION [SECONDS]\n')
  process.exit(2)
}

try {
  process.exitCode = await ask(new Date(Date.now() + Number(seconds) * 1000))
} catch (error) {
  // Both families of errors have a code that stays; the words may change. Anything else is a bug of this script.
  if (!(error instanceof BridgeError || error instanceof LocalError)) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exitCode = 1
}

async function ask(until) {
  await using bridge = await openProfile()
  const { message } = await bridge.messages.sendTo(peer, {
    type: 'question',
    body: question,
    expects_reply_by: until.toISOString(),
  })
  process.stderr.write(`asked ${peer} as ${message.id}\n`)
  // Long-polls, because this takes one message and goes: what a stream had pushed behind it would come late to others.
  for await (const heard of bridge.listen({ until, transports: ['long-poll'] })) {
    if (heard.in_reply_to !== message.id) continue
    process.stdout.write(`${heard.body}\n`)
    await heard.acknowledge()
    return 0
  }
  process.stderr.write(`no answer yet; bridge status ${message.id} tells whether it was offered\n`)
  return 4
}
