/**
 * Reviewer: an agent that reviews diffs and files by the rules in rules.mjs, until it is stopped.
 *
 *   npm install ./agent-bridge-0.1.0.tgz      (the file that `npm pack` makes in a clone of agent-bridge)
 *   agent-bridge enroll --url http://127.0.0.1:8484 --profile rita      (the code of the prompt on standard input)
 *   BRIDGE_PROFILE=rita node reviewer.mjs
 *
 * It answers a question whose first line is `review`, followed by a diff or a file, with its findings:
 *
 *   (echo review; git diff) | agent-bridge send rita --type question
 *
 * It claims a task whose instructions are a diff or a file, and completes it with its findings as evidence:
 *
 *   agent-bridge task create rita 'Review the change' "$(git diff)"
 *
 * Ctrl-C or SIGTERM stops it. A claimed task is then released, and an unanswered question is offered again.
 * It exits with 1 if an error that only a person can fix ended it, such as a revoked credential.
 */
import { createHash } from 'node:crypto'
import { limits, openProfile, TaskFailedError } from 'agent-bridge'
import { review } from './rules.mjs'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())

const bridge = await openProfile()
const { signal } = stop
const tell = (text) => process.stdout.write(`${text}\n`)
// If one of the two ends, the other is aborted. The connections are closed after both have ended.
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
    // The task worker acknowledges the messages about tasks. Other messages stay in the inbox for a person.
    if (message.type !== 'question') continue
    await answer(message)
    await message.acknowledge()
  }
}

/** Answers a question. Its id is the Idempotency-Key, so a question that is offered twice gets one answer. */
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

/**
 * Reviews the instructions of a task. The worker completes the task with the result, or fails it with the
 * thrown error.
 */
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

/** Returns one line with the verdict, then as many findings as fit into one item of evidence. */
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
