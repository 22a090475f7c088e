import { useEffect, useRef } from 'preact/hooks'
import type { Info } from '../../state/live-state.ts'
import { isAllowed } from '../../state/permission.ts'
import { LIST_PAGES, type ListPage, pageHash, type Route } from '../../state/router.ts'
import { THEMES, type Theme } from '../../state/theme.ts'
import { useConsole } from '../console-context.ts'
import { NamedIcon } from '../icons.tsx'
import { ConnectionBadge } from './connection-status.tsx'

/** In display order. */
export const PAGE_NAMES: Readonly<Record<ListPage, string>> = {
  overview: 'Overview',
  workers: 'Workers',
  sessions: 'Sessions',
  definitions: 'Definitions',
  labs: 'Labs',
  forecast: 'Forecast',
  controllers: 'Controllers',
  chaos: 'Chaos',
  people: 'People',
  audit: 'Audit',
  settings: 'Settings',
}

/** Hides pages that the user's role or the cloud doesn't support. */
function isOffered(page: ListPage, info: Info | null): boolean {
  if (page === 'chaos') return info !== null && info.sim_control !== null && info.actor.role === 'admin'
  if (page === 'audit') return isAllowed(info, 'listAudit')
  if (page === 'people') return isAllowed(info, 'listPeople')
  if (page === 'forecast') return isAllowed(info, 'getCalendar')
  if (page === 'labs') return isAllowed(info, 'listLabs')
  if (page === 'settings') return isAllowed(info, 'getSettings')
  return true
}

/** A detail page highlights its list in the navigation. */
const listOf = (route: Route): string => ('id' in route ? `${route.page}s` : route.page)

/** Scrolls the current page into view on narrow screens. */
function useCurrentPageInView(page: string, isThere: boolean) {
  const nav = useRef<HTMLElement>(null)
  useEffect(() => {
    const shown = nav.current
    const current = shown?.querySelector<HTMLElement>('[aria-current=page]')
    if (shown && current)
      shown.scrollLeft = current.offsetLeft - shown.offsetLeft - (shown.clientWidth - current.offsetWidth) / 2
  }, [page, isThere])
  return nav
}

export function TopBar({ onSkip }: { onSkip: () => void }) {
  const { router, state } = useConsole()
  const nav = useCurrentPageInView(listOf(router.route.value), state.info.value !== null)
  return (
    <header class="top-bar">
      <button type="button" class="button skip" onClick={onSkip}>
        Skip to content
      </button>
      <a class="brand" href="#/overview">
        <img src="./favicon.svg" alt="" width="24" height="24" />
        <span class="brand-name">Lablet Cloud Manager</span>
      </a>
      {state.connection.value.state !== 'signed-out' && (
        <nav ref={nav} aria-label="Pages">
          {LIST_PAGES.filter(page => isOffered(page, state.info.value)).map(page => (
            <a key={page} href={pageHash(page)} aria-current={listOf(router.route.value) === page ? 'page' : undefined}>
              {PAGE_NAMES[page]}
            </a>
          ))}
        </nav>
      )}
      <span class="top-bar-end">
        <SimulatedBadge />
        <ConnectionBadge />
        <Actor />
        <ThemeButton />
      </span>
    </header>
  )
}

function SimulatedBadge() {
  const { state } = useConsole()
  if (state.info.value?.cloud !== 'sim') return null
  return (
    <span class="badge simulated" title="Simulated cloud: no real machines, no real money">
      <NamedIcon name="flask" />
      <span>
        sim<span class="rest">ulated cloud</span>
      </span>
    </span>
  )
}

function Actor() {
  const { state, logOut } = useConsole()
  const info = state.info.value
  if (info === null || state.connection.value.state === 'signed-out') return null
  return (
    <>
      <span class="actor" title={`LCM ${info.version}, ${info.profile}`}>
        {info.actor.name}
        {info.actor.role !== info.actor.name && <span class="muted"> {info.actor.role}</span>}
      </span>
      <button type="button" class="button icon-only" title="Log out" onClick={logOut}>
        <NamedIcon name="leave" />
        <span class="sr-only">Log out</span>
      </button>
    </>
  )
}

function ThemeButton() {
  const { themeChoice } = useConsole()
  const theme = themeChoice.theme.value
  const next: Theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  return (
    <button
      type="button"
      class="button icon-only"
      title={`Theme: ${theme}. Click for ${next}.`}
      onClick={() => themeChoice.choose(next)}
    >
      <NamedIcon name={theme} />
      <span class="sr-only">Theme: {theme}</span>
    </button>
  )
}
