import type { ComponentChildren } from 'preact'
import { pageHash } from '../../state/router.ts'
import { useConsole } from '../console-context.ts'
import { type IconName, NamedIcon } from '../icons.tsx'
import { RetryCountdown } from './connection-status.tsx'

interface PageStateProps {
  readonly icon: IconName
  readonly title: string
  readonly children: ComponentChildren
}

/** An empty page: says why and what to do. */
export const PageState = ({ icon, title, children }: PageStateProps) => (
  <section class="page-state">
    <span class="page-state-icon">
      <NamedIcon name={icon} />
    </span>
    <h1 tabIndex={-1}>{title}</h1>
    {children}
  </section>
)

/** Shown when the first load failed. */
export function Unreachable({ because, retryAtMs }: { because: string; retryAtMs: number }) {
  const { stream } = useConsole()
  return (
    <PageState icon="offline" title="LCM is not responding">
      <p>
        {because}. <RetryCountdown retryAtMs={retryAtMs} />
      </p>
      <p class="muted">
        Start LCM with <code class="command">npm start</code>, or run <code class="command">npx lcm doctor</code> to
        find the problem.
      </p>
      <button type="button" class="button primary" onClick={stream.retryNow}>
        Retry now
      </button>
    </PageState>
  )
}

/** An error in the console itself, shown so that the user can report it. */
export const RenderFailed = ({ failure, onRetry }: { failure: unknown; onRetry: () => void }) => (
  <PageState icon="close" title="This page can't be shown">
    <p>
      The console failed to render this page: <code>{String(failure)}</code>
    </p>
    <p class="muted">
      The fleet is not affected, and other pages still work. <code class="command">npx lcm get</code> shows the same
      data.
    </p>
    <button type="button" class="button primary" onClick={onRetry}>
      Try again
    </button>
  </PageState>
)

const SKELETON_ROWS = [0, 1, 2, 3, 4, 5]

export const Loading = () => (
  <section class="loading" aria-busy="true">
    <h1 class="sr-only" tabIndex={-1}>
      Loading the fleet…
    </h1>
    <span class="bone title" />
    {SKELETON_ROWS.map(row => (
      <span key={row} class="bone row" />
    ))}
  </section>
)

interface NotFoundProps {
  readonly title: string
  /** List page to link to. */
  readonly list?: 'workers' | 'sessions' | 'definitions'
  readonly children: ComponentChildren
}

export const NotFound = ({ title, list = 'workers', children }: NotFoundProps) => (
  <PageState icon="search" title={title}>
    {children}
    <a class="button primary" href={pageHash(list)}>
      All {list}
    </a>
  </PageState>
)
