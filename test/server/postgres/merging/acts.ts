/** Requests that a test draws by a seed: sends, acknowledgements, reads, tasks and transfers of six agents. */

export const names = ['ada', 'ben', 'cleo', 'dan', 'eve', 'fay'] as const
export type Name = (typeof names)[number]
/** End of the key of a second claim of the same task. */
export const otherClaim = '-other'
export const batches = 6
export const batchSize = 24

const verbs = ['claim', 'progress', 'renew', 'release', 'complete', 'cancel', 'stopped', 'show'] as const
type Verb = (typeof verbs)[number]

const transferVerbs = ['accept', 'decline', 'cancel', 'fail', 'get'] as const
type TransferVerb = (typeof transferVerbs)[number]

export type Act =
  | {
      readonly kind: 'send'
      readonly from: Name
      readonly to: Name
      /** Names the conversation. It is another pair's in a request that is refused. */
      readonly within: string
      readonly text: string
      readonly key: string
      readonly answers?: string | undefined
    }
  | { readonly kind: 'acknowledge'; readonly by: Name; readonly texts: readonly string[] }
  | { readonly kind: 'read'; readonly by: Name }
  | {
      readonly kind: 'create'
      readonly by: Name
      readonly to: Name
      readonly title: string
      readonly key: string
    }
  | {
      readonly kind: 'task'
      readonly verb: Verb
      readonly by: Name
      readonly title: string
      readonly key: string
    }
  | {
      readonly kind: 'offer'
      readonly by: Name
      readonly to: Name
      readonly filename: string
      readonly key: string
    }
  | {
      readonly kind: 'transfer'
      readonly verb: TransferVerb
      readonly by: Name
      readonly filename: string
      readonly key: string
    }

/** A generator of numbers below 1 that gives the same ones for the same seed. */
function chanceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

interface Chance {
  readonly seed: number
  readonly next: () => number
  readonly pick: <T>(from: readonly T[]) => T
}

/** Sends, tasks and transfers of earlier batches, which the acts of a batch may name. */
interface Earlier {
  readonly sends: (Act & { readonly kind: 'send' })[]
  readonly tasks: (Act & { readonly kind: 'create' })[]
  readonly offers: (Act & { readonly kind: 'offer' })[]
}

/** The acts of each batch are sent at the same time. */
export function drawBatches(seed: number): Act[][] {
  const next = chanceOf(seed)
  const chance: Chance = { seed, next, pick: (from) => from[Math.floor(next() * from.length)] as never }
  const earlier: Earlier = { sends: [], tasks: [], offers: [] }
  return Array.from({ length: batches }, (_, batch) => {
    // Two requests for one task or transfer are in the same batch only if their order makes no difference.
    const [tasks, offers] = [new Set(earlier.tasks), new Set(earlier.offers)]
    const acts = Array.from({ length: batchSize }, (__, index) => {
      const act = draw(chance, `${batch}-${index}`, { ...earlier, tasks: [...tasks], offers: [...offers] })
      for (const task of tasks) if (act.kind === 'task' && act.title === task.title) tasks.delete(task)
      for (const offer of offers)
        if (act.kind === 'transfer' && act.filename === offer.filename) offers.delete(offer)
      return act
    })
    earlier.sends.push(
      ...(acts.filter(
        (act) => act.kind === 'send' && act.within === pairOf(act.from, act.to),
      ) as Earlier['sends']),
    )
    earlier.tasks.push(...acts.filter((act) => act.kind === 'create'))
    earlier.offers.push(...acts.filter((act) => act.kind === 'offer'))
    // Some clients lose the answer and repeat a request while the first one runs. Others claim what is being
    // claimed.
    const repeated = acts.filter((act) => 'key' in act && next() < 0.15)
    const contested = acts.flatMap((act) =>
      act.kind === 'task' && act.verb === 'claim' && next() < 0.3
        ? [{ ...act, key: `${act.key}${otherClaim}` }]
        : [],
    )
    return [...acts, ...repeated, ...contested]
  })
}

function draw({ seed, next, pick }: Chance, text: string, { sends, tasks, offers }: Earlier): Act {
  const by = pick(names)
  const roll = next()
  const received = sends.filter(({ to }) => to === by)
  const key = `key-${text}-of-${seed}`
  if (roll < 0.1) return { kind: 'read', by }
  if (roll < 0.2 && received.length > 0)
    return { kind: 'acknowledge', by, texts: [...new Set([pick(received).text, pick(received).text])] }
  if (roll < 0.42 && tasks.length > 0) {
    const task = pick(tasks)
    const verb = pick(verbs)
    const side = verb === 'cancel' ? task.by : task.to
    // Somebody else is refused.
    return { kind: 'task', verb, by: next() < 0.9 ? side : by, title: task.title, key }
  }
  if (roll < 0.52 && offers.length > 0) {
    const offer = pick(offers)
    const verb = pick(transferVerbs)
    const side = verb === 'cancel' ? offer.by : offer.to
    return { kind: 'transfer', verb, by: next() < 0.9 ? side : by, filename: offer.filename, key }
  }
  // Half of all work is for one agent.
  const others = names.filter((name) => name !== by)
  const to = by !== names[0] && next() < 0.5 ? names[0] : pick(others)
  if (roll < 0.59) return { kind: 'offer', by, to, filename: text, key }
  if (roll < 0.68) return { kind: 'create', by, to, title: text, key }
  const answered = roll < 0.77 && received.length > 0 ? pick(received) : undefined
  const recipient = answered?.from ?? to
  const within = pairOf(by, roll > 0.97 ? pick(others) : recipient)
  const known = sends.filter(({ from }) => from === by)
  // A key that was used for another message is refused.
  const used = roll > 0.94 && known.length > 0 ? pick(known).key : key
  return { kind: 'send', from: by, to: recipient, within, text, key: used, answers: answered?.text }
}

/** Names the conversation of two agents. */
export const pairOf = (one: Name, other: Name): string => [one, other].sort().join(' ')
