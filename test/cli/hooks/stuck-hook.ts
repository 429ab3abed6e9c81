/** A hook that never finishes printing: `node stuck-hook.ts <home> <profile> <session> <message id>`. */
import { tell } from '../../../cli/hooks/ledger-file.ts'
import { placesOf } from '../../../cli/hooks/places.ts'

const [home = '', profile = '', session = '', id = ''] = process.argv.slice(2)
const one = { id, kind: 'owner', name: 'owner', type: 'note', createdAt: '', replyBy: null } as const
await tell(placesOf(home, profile), session, {
  unread: { messages: [one], total: 1, isComplete: true, at: '' },
  clock: () => new Date(),
  when: 'due',
  print: () => {
    process.stdout.write('printing\n')
    setInterval(() => {}, 1000)
    return new Promise<void>(() => {})
  },
})
