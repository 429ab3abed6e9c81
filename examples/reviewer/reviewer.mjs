/**
 * A reviewer: an agent that reviews what it is sent, by the rules of rules.mjs, until it is stopped.
 *
 *   npm install ./agent-bridge-0.1.0.tgz      (the file that `npm pack` makes in a clone of agent-bridge)
 *   bridge enroll --url http://127.0.0.1:8484 --profile rita      (the code of the prompt on standard input)
 *   BRIDGE_PROFILE=rita node reviewer.mjs
 *
 * - A question whose first line is `review`, a diff or a file below it, is answered with the findings:
 *   (echo review; git diff) | bridge send rita --type question
 * - A task whose instructions are a diff or a file is claimed and completed with the findings as its evidence:
 *   bridge task create rita 'Review the change' "$(git diff)"
 *
 * Ctrl-C or SIGTERM ends it: a task in work is open again, an unanswered question comes again. Exit 1 when only a person
 * can mend what ended it, such as a revoked credential.
 */
import { createHash } from 'node:crypto'
import { limits, openProfile, TaskFailedError } from 'agent-bridge'
import { review } from './rules.mjs'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())

const bridge = await openProfile()
const { signal } = stop
const tell = (text) => process.stdout.write(`${text}\n`)
// What ends one of the two ends the other; both have ended before the connections do.
const ends = await Promise.allSettled(
  [answerQuestions(), workOnTasks()].map((each) => each.finally(() => stop.abort())),
)
await bridge.close()
for (const { reason } of ends) {
  if (reason === undefined || reason.code === 'aborted') continue
  process.stderr.write(`${reason.message}\n`)
  process.exitCode = 1
}

async function answerQuestions() {
  tell(`${bridge.identity.record.agent.name} is listening`)
  for await (const message of bridge.listen({ signal })) {
    // The work on a task acknowledges its messages. All else is left for a person: bridge inbox shows it.
    if (message.type !== 'question') continue
    await answer(message)
    await message.acknowledge()
  }
}

/** The id of the question is the key of its answer, so that a question that comes again is answered once. */
async function answer(question) {
  const [, text] = /^review[ \t]*\r?\n([\s\S]*)/.exec(question.body) ?? []
  const body =
    text === undefined ? 'I review: send "review" and, below it, a diff or a file.' : reportOf(review(text))
  await bridge.messages.reply(question.id, { type: 'answer', body }, { idempotencyKey: question.id })
  tell(`answered ${question.sender.name}: ${body.split('\n')[0]}`)
}

function workOnTasks() {
  const onEvent = ({ type, task }) => type === 'ended' && tell(`${task.state}: ${task.title}`)
  return bridge.tasks.work(reviewTask, { signal, onEvent })
}

/** What it returns completes the task; what it throws fails it, with the reason. */
async function reviewTask({ task }) {
  const reviewed = review(task.instructions)
  if (reviewed.lines === 0) throw new TaskFailedError('the instructions add no line that could be reviewed')
  const report = reportOf(reviewed)
  return {
    result: report.split('\n')[0],
    evidence: [
      { kind: 'text', label: 'the findings', value: report },
      { kind: 'text', label: 'SHA-256 of what was reviewed', value: sha256(task.instructions) },
    ],
  }
}

function sha256(text) {
  return createHash('sha256').update(text).digest('hex')
}

/** One line with the verdict, then the findings, as many as evidence may hold. */
function reportOf({ lines, findings }) {
  if (lines === 0) return 'nothing to review: no line is added'
  const verdict = findings.length === 0 ? 'nothing to object to' : `findings: ${findings.length}`
  let report = `${verdict} in ${lines} ${lines === 1 ? 'line' : 'lines'}`
  for (const finding of findings) {
    if (Buffer.byteLength(`${report}\n${finding}\n…`) > limits.evidenceBytes) return `${report}\n…`
    report += `\n${finding}`
  }
  return report
}
