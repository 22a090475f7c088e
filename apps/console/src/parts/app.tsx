import { useEffect, useRef } from 'preact/hooks'
import { WorkerPage } from '../pages/worker-page.tsx'
import { WorkersPage } from '../pages/workers-page.tsx'
import type { Route } from '../router.ts'
import { ConnectionBanner } from './connection-badge.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { NoticeList } from './notice-list.tsx'
import { Loading, LoginFailed, NotFound, SignedOut, Unreachable } from './page-states.tsx'
import { TerminateDialog } from './terminate-dialog.tsx'
import { TopBar } from './top-bar.tsx'
import { type ConsoleParts, useConsole } from './wiring.ts'

export function App() {
  const parts = useConsole()
  const main = useRef<HTMLElement>(null)
  const route = parts.router.route.value
  const title = titleOf(route, parts)
  useEffect(() => {
    document.title = `${title} · LCM`
  }, [title])
  useFocusOnArrival(addressOf(route), main)
  return (
    <>
      <TopBar onSkip={() => main.current?.focus()} />
      <main ref={main} tabIndex={-1}>
        <ConnectionBanner />
        <Page route={route} />
      </main>
      <Dialogs />
      <NoticeList />
    </>
  )
}

function Page({ route }: { route: Route }) {
  const { state } = useConsole()
  const connection = state.connection.value
  if (route.page === 'login-failed') return <LoginFailed />
  if (connection.state === 'signed-out') return <SignedOut />
  if (state.info.value === null) return 'because' in connection ? <Unreachable {...connection} /> : <Loading />
  switch (route.page) {
    case 'workers':
      return <WorkersPage filter={route.filter} />
    case 'worker':
      return <WorkerPage id={route.id} />
    case 'unknown':
      return (
        <NotFound title="No such page">
          <p>
            There is nothing at <code>#/{route.path}</code>.
          </p>
        </NotFound>
      )
  }
}

function Dialogs() {
  const { dialog } = useConsole()
  const open = dialog.value
  if (open === null) return null
  return open.kind === 'create' ? <CreateDialog /> : <TerminateDialog id={open.id} />
}

const TITLES = { workers: 'Workers', 'login-failed': 'Sign in', unknown: 'Not found' } as const

function titleOf(route: Route, { state }: ConsoleParts): string {
  if (route.page === 'worker') return state.workers.get(route.id)?.name ?? route.id
  return TITLES[route.page]
}

const addressOf = (route: Route): string => (route.page === 'worker' ? `worker ${route.id}` : route.page)

/** A new page is announced by moving the focus to its heading, but not while the first one loads. */
function useFocusOnArrival(address: string, main: { current: HTMLElement | null }): void {
  const previous = useRef(address)
  useEffect(() => {
    if (previous.current === address) return
    previous.current = address
    window.scrollTo(0, 0)
    main.current?.querySelector<HTMLElement>('h1')?.focus()
  }, [address, main])
}
