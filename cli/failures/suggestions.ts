/**
 * Suggestions for an unknown command word: a synonym, a command elsewhere in the tree, or a similar spelling.
 */
import { editDistance } from '../../sdk/contract/spelling.ts'
import { type Command, wordsOf } from '../command.ts'

/**
 * Commands for words that people may type instead, alone or after a group. If no command does it, a sentence.
 */
export const synonyms: Readonly<Record<string, readonly string[] | string>> = {
  // The node.
  install: ['server init', 'enroll'],
  serve: ['server start'],
  daemon: ['server start'],
  launch: ['server start'],
  start: ['server start', 'session start'],
  restart: ['server start'],
  stop: 'control-C or SIGTERM ends bridge server start; bridge session close ends the session of a profile',
  shutdown: 'control-C or SIGTERM ends bridge server start',
  down: 'control-C or SIGTERM ends bridge server start',
  'server stop': 'control-C or SIGTERM ends bridge server start',
  'server up': ['up', 'server start'],
  'server run': ['server start'],
  health: ['server status', 'doctor'],
  ping: ['server status', 'doctor'],
  config: ['server start --help', 'help environment'],
  settings: ['server start --help', 'help environment'],
  version: ['--version'],
  // Identity.
  register: ['enroll', 'key register'],
  join: ['enroll'],
  connect: ['enroll', 'listen'],
  signup: ['admin setup', 'enroll'],
  signin: ['admin login'],
  'sign-in': ['admin login'],
  auth: ['admin login', 'enroll'],
  passwd: ['admin password'],
  profile: ['whoami'],
  profiles: ['whoami'],
  identity: ['whoami'],
  me: ['whoami'],
  who: ['whoami', 'peers'],
  // Messages.
  agents: ['peers', 'admin agent list'],
  contacts: ['peers'],
  users: ['peers', 'admin administrator list'],
  chat: ['send', 'ask', 'listen'],
  talk: ['send', 'ask', 'listen'],
  say: ['send'],
  tell: ['send'],
  post: ['send'],
  msg: ['send', 'admin message'],
  message: ['send', 'admin message'],
  question: ['ask'],
  answer: ['reply'],
  respond: ['reply'],
  acknowledge: ['ack'],
  confirm: ['ack'],
  recv: ['listen', 'inbox', 'transfer receive'],
  receive: ['listen', 'inbox', 'transfer receive'],
  read: ['inbox', 'history'],
  mail: ['inbox'],
  messages: ['inbox', 'history'],
  unread: ['inbox'],
  poll: ['listen', 'inbox'],
  wait: ['listen', 'ask'],
  subscribe: ['listen'],
  follow: ['listen', 'admin watch'],
  queue: ['outbox list'],
  resend: ['outbox flush'],
  retry: ['outbox flush'],
  // Files.
  upload: ['transfer send'],
  download: ['transfer receive'],
  put: ['transfer send'],
  get: ['transfer receive', 'inbox'],
  share: ['transfer send'],
  file: ['transfer send', 'transfer receive'],
  files: ['transfer list'],
  'transfer upload': ['transfer send'],
  'transfer download': ['transfer receive'],
  'transfer get': ['transfer receive'],
  'transfer fetch': ['transfer receive'],
  'transfer reject': ['transfer decline'],
  // Tasks.
  todo: ['task list'],
  work: ['task run', 'task list'],
  done: ['task complete', 'ack'],
  finish: ['task complete'],
  'task accept': ['task claim'],
  'task take': ['task claim'],
  'task start': ['task claim'],
  'task done': ['task complete'],
  'task finish': ['task complete'],
  'task update': ['task progress'],
  'task reject': ['task decline'],
  'task abort': ['task cancel', 'task release'],
  'task stop': ['task stopped', 'task cancel'],
  // The owner.
  invite: ['admin enrollment create'],
  prompt: ['admin enrollment create'],
  'admin enroll': ['admin enrollment create'],
  'admin send': ['admin message'],
  'admin answer': ['admin reply'],
  'admin unread': ['admin inbox'],
  'admin pause': ['admin project state'],
  'admin archive': ['admin project state'],
  pair: ['admin pairing enable'],
  unpair: ['admin pairing disable'],
  logs: ['admin audit', 'admin watch'],
  events: ['admin watch', 'admin audit'],
  dashboard: ['admin watch', 'admin status'],
}

/** Verbs, each with the verb that a group may have instead. */
const verbs: Readonly<Record<string, string>> = {
  add: 'create',
  new: 'create',
  make: 'create',
  ls: 'list',
  get: 'show',
  info: 'show',
  view: 'show',
  rm: 'delete',
  remove: 'delete',
  rename: 'name',
}

const most = 5

/**
 * Returns one line, or undefined if no command is similar. `group` precedes the word; `root` is the whole
 * tree.
 */
export function suggestion(word: string, group: Command, root: Command): string | undefined {
  const here = synonyms[[...wordsOf(group), word].join(' ')]
  const known = here ?? synonyms[word]
  if (typeof known === 'string') return known
  const meant = first(
    [...(here ?? []), ...otherVerb(word, group)],
    group.parent === null ? [] : listOf(word, group),
    [...(known ?? []), ...namedExactly(word, root), ...listOf(word, root)],
    similar(word, group, root),
  )
  const shown = meant.slice(0, most).map((words) => `bridge ${words}`)
  if (shown.length === 0) return undefined
  const rest = meant.length > shown.length ? ', …' : ''
  return shown.length === 1 ? `did you mean ${shown[0]}?` : `did you mean one of ${shown.join(', ')}${rest}?`
}

/** Returns the first list that is not empty, without duplicates. */
const first = (...lists: readonly (readonly string[])[]): string[] => [
  ...new Set(lists.find((list) => list.length > 0)),
]

const pathOf = (command: Command): string => wordsOf(command).join(' ')

function otherVerb(word: string, group: Command): string[] {
  const found = group.commands.find((command) => command.name() === verbs[word])
  return found === undefined || group.parent === null ? [] : [pathOf(found)]
}

const everywhere = (command: Command): Command[] =>
  command.commands.flatMap((child) => [child, ...everywhere(child)])

/** Commands of that name in the whole tree. */
const namedExactly = (word: string, root: Command): string[] =>
  everywhere(root)
    .filter((command) => command.name() === word)
    .map(pathOf)

/** The `list` commands of a group, by the plural of the group's name: `projects`. */
const listOf = (word: string, root: Command): string[] =>
  everywhere(root)
    .filter((command) => `${command.name()}s` === word)
    .flatMap((command) => command.commands.filter((child) => child.name() === 'list').map(pathOf))

/** Commands with the most similar names in the group, else in the whole tree. */
function similar(word: string, group: Command, root: Command): string[] {
  for (const candidates of [group.commands, everywhere(root)]) {
    const near = candidates.map((command) => ({ command, distance: editDistance(word, command.name()) }))
    const best = Math.min(...near.map(({ distance }) => distance))
    if (best <= 2 && best < word.length / 2)
      return near.filter(({ distance }) => distance === best).map(({ command }) => pathOf(command))
  }
  return []
}
