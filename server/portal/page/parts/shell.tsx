/** Frame of every screen of a signed-in person: top bar, rail with the sections, content. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { listenForKeys } from '../keyboard.ts'
import { type LiveProject, liveProject } from '../live/project.ts'
import { notifyOf } from '../notifications.ts'
import { session, signOut } from '../owner.ts'
import { Visible } from '../text/visible.tsx'
import { readerSide } from '../words/people.ts'
import { plural } from '../words/plural.ts'
import { Announcements, announce } from './announce.tsx'
import { attentionCount } from './heading.tsx'
import { keepFocus } from './kept-focus.ts'
import { Shortcuts } from './shortcuts.tsx'
import { act } from './toast.tsx'

type Section = readonly [path: string, name: string]

const ofProject: readonly Section[] = [
  ['', 'Overview'],
  ['/agents', 'Agents'],
  ['/conversations', 'Conversations'],
  ['/tasks', 'Tasks'],
  ['/transfers', 'Transfers'],
  ['/pairs', 'Pairs'],
  ['/audit', 'Audit'],
]

const ofOwner: readonly Section[] = [
  ['/node', 'Node'],
  ['/people', 'People'],
  ['/audit', 'Audit of the node'],
]

/** Sections of the node that the signed-in person may open. */
const ofNode = (): readonly Section[] => [
  ['/', 'Projects'],
  ...(session.value?.user.role === 'owner' ? ofOwner : []),
  ['/settings', 'Settings'],
]

const isMenuOpen = signal(false)

/** Unacknowledged messages to the owner in the open project. */
const toOwner = signal(0)

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { path, route } = useLocation()
  useEffect(() => listenForKeys(route), [])
  const project = /^\/projects\/([^/]+)/.exec(path)?.[1]
  useEffect(() => {
    isMenuOpen.value = false
  }, [path])
  const menu = useRef<HTMLButtonElement>(null)
  const closeMenu = ({ key }: KeyboardEvent) => {
    if (key !== 'Escape' || !isMenuOpen.value) return
    isMenuOpen.value = false
    menu.current?.focus()
  }
  useEffect(() => {
    addEventListener('keydown', closeMenu)
    return () => removeEventListener('keydown', closeMenu)
  }, [])
  const content = useRef<HTMLElement>(null)
  useEffect(() => (content.current === null ? undefined : keepFocus(content.current)), [])
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="bar">
        <button
          ref={menu}
          type="button"
          class="quiet menu"
          aria-expanded={isMenuOpen.value}
          aria-controls="sections"
          onClick={() => {
            isMenuOpen.value = !isMenuOpen.value
          }}
        >
          Menu
        </button>
        <a class="brand" href="/">
          bridge
        </a>
        {project === undefined ? <span class="where" /> : <Where key={project} id={project} />}
        <a class="who" href="/settings">
          <bdi>{session.value?.user.name}</bdi>
        </a>
        <button type="button" class="quiet" onClick={() => act(signOut)}>
          Sign out
        </button>
      </header>
      <div class="railed">
        <nav id="sections" class={isMenuOpen.value ? 'rail open' : 'rail'} aria-label="Sections">
          {project !== undefined && (
            <Sections
              all={ofProject.map(([end, name]) => [`/projects/${project}${end}`, name])}
              path={path}
            />
          )}
          <Sections all={ofNode()} path={path} />
        </nav>
        <main id="content" ref={content} tabIndex={-1}>
          {children}
        </main>
      </div>
      <Announcements />
      <Shortcuts />
    </>
  )
}

function Sections({ all, path }: { readonly all: readonly Section[]; readonly path: string }) {
  // The first section is the parent of the others, so only its own address is its.
  const current = all.findLast(([href], index) => path === href || (index > 0 && path.startsWith(`${href}/`)))
  return (
    <ul>
      {all.map((section) => (
        <li key={section[0]}>
          <a href={section[0]} aria-current={section === current ? 'page' : undefined}>
            {section[1]}
            {section[0].endsWith('/conversations') && <ToOwner />}
          </a>
        </li>
      ))}
    </ul>
  )
}

function ToOwner() {
  const count = toOwner.value
  if (count === 0) return null
  return (
    <span class="tag" title={`${plural(count, 'unacknowledged message')} to ${readerSide()}`}>
      {count}
      <span class="unseen"> {plural(count, 'unacknowledged message').replace(/^\d+ /, '')}</span>
    </span>
  )
}

/** Name and state of the project. It keeps the project live while any screen of it is open. */
function Where({ id }: { readonly id: string }) {
  const live = useMemo(() => liveProject(id), [id])
  useEffect(() => {
    const unwatch = notifyOf(id, live)
    return () => {
      unwatch()
      live.stop()
    }
  }, [live])
  useCount(live)
  const project = live.snapshot.value?.project
  return (
    <span class="where">
      {project !== undefined && (
        <>
          <a href={`/projects/${id}`}>
            <Visible text={project.name} />
          </a>
          {project.state !== 'active' && <span class="tag">{project.state}</span>}
        </>
      )}
    </span>
  )
}

function useCount({ snapshot }: LiveProject): void {
  const count = snapshot.value?.attention.length ?? 0
  const unread = snapshot.value?.counts.to_owner ?? 0
  useEffect(() => {
    toOwner.value = unread
    return () => {
      toOwner.value = 0
    }
  }, [unread])
  const before = useRef<number | undefined>(undefined)
  useEffect(() => {
    if (before.current !== undefined && count > before.current)
      announce('attention', count === 1 ? '1 item needs you.' : `${count} items need you.`)
    if (snapshot.value !== undefined) before.current = count
    attentionCount.value = count
    return () => {
      attentionCount.value = 0
    }
  }, [count, snapshot.value === undefined])
}
