import type { Route } from '../router.ts'
import { THEMES, type Theme } from '../theme.ts'
import { ConnectionBadge } from './connection-badge.tsx'
import { NamedIcon } from './icons.tsx'
import { useConsole } from './wiring.ts'

/** One entry per page of the console, in the order in which they are shown. */
const NAVIGATION: readonly { label: string; href: string; pages: readonly Route['page'][] }[] = [
  { label: 'Workers', href: '#/workers', pages: ['workers', 'worker'] },
]

export function TopBar({ onSkip }: { onSkip: () => void }) {
  const { router } = useConsole()
  return (
    <header class="top-bar">
      <button type="button" class="button skip" onClick={onSkip}>
        Skip to content
      </button>
      <a class="brand" href="#/workers">
        <img src="./favicon.svg" alt="" width="24" height="24" />
        <span class="brand-name">Lablet Cloud Manager</span>
      </a>
      <nav aria-label="Pages">
        {NAVIGATION.map(({ label, href, pages }) => (
          <a key={href} href={href} aria-current={pages.includes(router.route.value.page) ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
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
      title={`Theme: ${theme}. Press for ${next}.`}
      onClick={() => themeChoice.choose(next)}
    >
      <NamedIcon name={theme} />
      <span class="sr-only">Theme: {theme}</span>
    </button>
  )
}
