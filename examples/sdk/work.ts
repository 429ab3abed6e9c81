/** Take one task. The worker claims it, renews the claim and reports the result. */
import { openProfile, TaskFailedError } from '../../sdk/index.ts'

const bridge = await openProfile()
try {
  await bridge.tasks.work(
    async ({ task, progress }) => {
      if (task.instructions === '') throw new TaskFailedError('there are no instructions')
      await progress({ percent: 50 })
      const lines = task.instructions.split('\n').length
      return { result: `${lines} lines`, evidence: [{ kind: 'text', value: task.title }] }
    },
    { limit: 1 },
  )
} finally {
  await bridge.close()
}
