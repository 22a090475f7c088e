import { type ComponentType, Fragment, type VNode } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from 'preact/hooks'
import { AuditPage } from '../../pages/audit/audit-page.tsx'
import { ChaosPage } from '../../pages/chaos/chaos-page.tsx'
import { ControllersPage } from '../../pages/controller/controllers-page.tsx'
import { DefinitionsPage } from '../../pages/definition/definitions-page.tsx'
import { LabsPage } from '../../pages/lab/labs-page.tsx'
import { OverviewPage } from '../../pages/overview/overview-page.tsx'
import { PeoplePage } from '../../pages/person/people-page.tsx'
import { SessionsPage } from '../../pages/session/list/sessions-page.tsx'
import { SettingsPage } from '../../pages/settings/settings-page.tsx'
import { SignInPage } from '../../pages/sign-in/sign-in-page.tsx'
import { WorkersPage } from '../../pages/worker/list/workers-page.tsx'
import type { ListPage, Query, Route } from '../../state/router.ts'
import { zoneText } from '../../state/time-format.ts'
import { type ConsoleParts, useConsole } from '../console-context.ts'
import { ConnectionBanner } from './connection-status.tsx'
import { DetailPageOf } from './detail-page-route.tsx'
import { lazyPage } from './lazy-page.tsx'
import { NoticeList } from './notice-list.tsx'
import { Loading, NotFound, RenderFailed, Unreachable } from './page-states.tsx'
import { PAGE_NAMES, TopBar } from './top-bar.tsx'

export function App() {
  const parts = useConsole()
  const main = useRef<HTMLElement>(null)
  const route = parts.router.route.value
  const title = titleOf(route, parts)
  const address = addressOf(route)
  const dialog = useDialogOf(address)
  useLayoutEffect(() => {
    document.title = `${title} · LCM`
  }, [title])
  useFocusOnArrival(address, main)
  return (
    <>
      <TopBar onSkip={() => main.current?.focus()} />
      <main ref={main} tabIndex={-1}>
        <ConnectionBanner />
        <Page key={address} route={route} />
      </main>
      <ZoneNote />
      {dialog}
      <NoticeList />
    </>
  )
}

/** An error while rendering one page must not break the navigation. */
function Page({ route }: { route: Route }) {
  const { state } = useConsole()
  const [failure, tryAgain] = useErrorBoundary()
  if (failure !== undefined) return <RenderFailed failure={failure} onRetry={tryAgain} />
  const connection = state.connection.value
  if (route.page === 'sign-in') return <SignInPage query={route.query} />
  if (connection.state === 'signed-out') return <SignInPage />
  if (state.info.value === null) return 'because' in connection ? <Unreachable {...connection} /> : <Loading />
  if (route.page === 'unknown') return <NoSuchPage path={route.path} />
  if ('id' in route) return <DetailPageOf key={route.id} {...route} />
  const List = LISTS[route.page]
  return <List query={route.query} />
}

function ZoneNote() {
  const { state, nowMs } = useConsole()
  if (state.info.value === null) return null
  const zone = zoneText(nowMs.peek())
  return (
    <footer class="zone-note muted">
      Times are in your browser's time zone, {zone}.{zone !== 'UTC' && ' Hover over a time to see it in UTC.'}
    </footer>
  )
}

type ListProps = { readonly query: Query }

const ForecastPage = lazyPage(async () => (await import('../../pages/forecast/forecast-page.tsx')).ForecastPage)

const LISTS: Readonly<Record<ListPage, ComponentType<ListProps>>> = {
  overview: OverviewPage,
  workers: WorkersPage,
  sessions: SessionsPage,
  definitions: DefinitionsPage,
  labs: LabsPage,
  forecast: ForecastPage,
  controllers: ControllersPage,
  chaos: ChaosPage,
  people: PeoplePage,
  audit: AuditPage,
  settings: SettingsPage,
}

const NoSuchPage = ({ path }: { path: string }) => (
  <NotFound title="Page not found">
    <p>
      <code>#/{path}</code> doesn't exist.
    </p>
  </NotFound>
)

function titleOf(route: Route, { state }: ConsoleParts): string {
  if (route.page === 'sign-in') return 'Sign in'
  if (route.page === 'unknown') return 'Not found'
  if (!('id' in route)) return PAGE_NAMES[route.page]
  const { worker, definition } = state.live
  if (route.page === 'worker') return worker.get(route.id)?.name ?? route.id
  if (route.page === 'definition') return definition.get(route.id)?.name ?? route.id
  return route.id
}

const addressOf = (route: Route): string => ('id' in route ? `${route.page} ${route.id}` : route.page)

/**
 * Closes the dialog when the user navigates away from the page that opened it. Each opening has its own key: a menu that Escape
 * just closed must not be reused for the next one.
 */
function useDialogOf(address: string): VNode | null {
  const { dialog } = useConsole()
  const opened = useRef({ shown: dialog.value, address, key: 0 })
  if (opened.current.shown !== dialog.value)
    opened.current = { shown: dialog.value, address, key: opened.current.key + 1 }
  const isLeft = opened.current.address !== address
  // Before the next event: a later effect would close a dialog of the new page.
  useLayoutEffect(() => {
    if (isLeft) dialog.value = null
  }, [isLeft, dialog])
  return isLeft ? null : <Fragment key={opened.current.key}>{dialog.value}</Fragment>
}

/** Moves the focus to the heading of a new page, so that screen readers announce it. The first page is skipped. */
function useFocusOnArrival(address: string, main: { current: HTMLElement | null }): void {
  const previous = useRef(address)
  useEffect(() => {
    if (previous.current === address || main.current === null) return
    previous.current = address
    window.scrollTo(0, 0)
    return keepOnHeading(main.current)
  }, [address, main])
}

/** A loading page is replaced by the loaded one: the focus follows to its heading, unless the user moved it. */
function keepOnHeading(main: HTMLElement): () => void {
  const focusHeading = () => {
    const heading = main.querySelector<HTMLElement>('h1')
    heading?.focus()
    return heading
  }
  let focused = focusHeading()
  const watcher = new MutationObserver(() => {
    if (document.activeElement === focused) return
    const isGone = focused === null || !focused.isConnected
    if (isGone && document.activeElement === document.body) focused = focusHeading()
    else watcher.disconnect()
  })
  watcher.observe(main, { childList: true, subtree: true })
  return () => watcher.disconnect()
}
