/** Chooses between the states of the page: starting, wrong address, signed out, signed in. */
import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { LocationProvider, useLocation } from 'preact-iso/router'
import { booted } from './boot.ts'
import { lazily, loaded } from './lazily.tsx'
import { asking, session } from './owner.ts'
import { Bands } from './parts/bands.tsx'
import { Refusal } from './parts/refusal.tsx'
import { type Route, Router } from './parts/router.tsx'
import { Shell } from './parts/shell.tsx'
import { Toasts } from './parts/toast.tsx'
import { Confirm } from './screens/confirm.tsx'
import { NotFound } from './screens/not-found.tsx'
import { Overview } from './screens/overview.tsx'
import { Projects } from './screens/projects.tsx'
import { SetUp } from './screens/set-up.tsx'
import { SignIn } from './screens/sign-in.tsx'
import { WrongOrigin } from './screens/wrong-origin.tsx'

const Agent = lazily(() => import('./screens/agent.tsx').then((all) => all.Agent))
const Agents = lazily(() => import('./screens/agents.tsx').then((all) => all.Agents))
const Conversations = lazily(() => import('./screens/conversations.tsx').then((all) => all.Conversations))
const ProjectSettings = lazily(() =>
  import('./screens/project-settings.tsx').then((all) => all.ProjectSettings),
)
const NodeAudit = lazily(() => import('./screens/audit.tsx').then((all) => all.NodeAudit))
const Node = lazily(() => import('./screens/node.tsx').then((all) => all.Node))
const People = lazily(() => import('./screens/people.tsx').then((all) => all.People))
const ProjectAudit = lazily(() => import('./screens/audit.tsx').then((all) => all.ProjectAudit))
const Settings = lazily(() => import('./screens/settings.tsx').then((all) => all.Settings))
const MessageAddress = lazily(() => import('./screens/message.tsx').then((all) => all.MessageAddress))
const Tasks = lazily(() => import('./screens/tasks.tsx').then((all) => all.Tasks))
const OneTask = lazily(() => import('./screens/task.tsx').then((all) => all.OneTask))
const Transfers = lazily(() => import('./screens/transfers.tsx').then((all) => all.Transfers))
const OneTransfer = lazily(() => import('./screens/transfer.tsx').then((all) => all.OneTransfer))
const Pairs = lazily(() => import('./screens/pairs.tsx').then((all) => all.Pairs))
const Thread = lazily(() => import('./screens/thread.tsx').then((all) => all.Thread))

const routes: readonly Route[] = [
  ['/', loaded(Projects)],
  ['/projects/:id', loaded(Overview)],
  ['/projects/:id/agents', Agents],
  ['/projects/:id/agents/:agent', Agent],
  ['/projects/:id/pairs', Pairs],
  ['/projects/:id/settings', ProjectSettings],
  ['/projects/:id/conversations', Conversations],
  ['/projects/:id/conversations/:conversation', Thread],
  ['/projects/:id/audit', ProjectAudit],
  ['/audit', NodeAudit],
  ['/people', People],
  ['/node', Node],
  ['/settings', Settings],
  ['/projects/:id/messages/:message', MessageAddress],
  ['/projects/:id/tasks', Tasks],
  ['/projects/:id/tasks/:task', OneTask],
  ['/projects/:id/transfers', Transfers],
  ['/projects/:id/transfers/:transfer', OneTransfer],
]

const otherwise = loaded(NotFound)

/**
 * Number of changes of the screen. Preact keeps the first drawing of children that stay the same, with all that it
 * holds, so the page draws its root again after each change. The screen that was left is then free.
 */
const changes = signal(0)

const changed = () => {
  changes.value += 1
}

export function App() {
  const boot = booted.value
  if (boot.state === 'loading') return <p class="starting">Starting…</p>
  if (boot.state === 'wrong_origin') return <WrongOrigin origin={boot.health.portal_origin} />
  if (boot.state === 'failed')
    return (
      <main class="narrow">
        <h1>The node did not answer</h1>
        <Refusal error={boot.error} />
        <button type="button" onClick={() => location.reload()}>
          Try again
        </button>
      </main>
    )
  return (
    <LocationProvider>
      <Screens drawing={changes.value} />
      {asking.value && <Confirm {...asking.value} />}
      <Toasts />
    </LocationProvider>
  )
}

/** A component without a changed property is not drawn again. */
function Screens(_changes: { readonly drawing: number }) {
  const { path } = useLocation()
  const isSignedIn = session.value !== undefined
  useLayoutEffect(changed, [path, isSignedIn])
  if (path === '/setup') return <SetUp />
  if (path === '/sign-in' || !isSignedIn) return <SignIn />
  return (
    <Shell>
      <Bands />
      <Router routes={routes} otherwise={otherwise} drawn={changed} />
    </Shell>
  )
}
