/** Frame of every screen of a signed-in person: top bar, rail of the project, content. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { session, signOut } from '../owner.ts'
import { act } from './toast.tsx'

const sections = [
  ['', 'Overview'],
  ['/conversations', 'Conversations'],
] as const

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { path } = useLocation()
  const project = /^\/projects\/([^/]+)/.exec(path)?.[1]
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href="/">
          bridge
        </a>
        <span class="who">
          <bdi>{session.value?.user.name}</bdi>
        </span>
        <button type="button" class="quiet" onClick={() => act(signOut)}>
          Sign out
        </button>
      </header>
      <div class={project === undefined ? 'plain' : 'railed'}>
        {project !== undefined && (
          <nav class="rail" aria-label="Project">
            {sections.map(([end, name]) => {
              const href = `/projects/${project}${end}`
              const isCurrent = end === '' ? path === href : path.startsWith(href)
              return (
                <a key={end} href={href} aria-current={isCurrent ? 'page' : undefined}>
                  {name}
                </a>
              )
            })}
          </nav>
        )}
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  )
}
