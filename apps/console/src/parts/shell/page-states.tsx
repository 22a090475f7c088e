import type { ComponentChildren } from 'preact'
import { pageHash } from '../../state/router.ts'
import { useConsole } from '../console-context.ts'
import { type IconName, NamedIcon } from '../icons.tsx'
import { RetryCountdown } from './connection-badge.tsx'

interface PageStateProps {
  readonly icon: IconName
  readonly title: string
  readonly children: ComponentChildren
}

/** A page that has nothing to list says why, and what to do about it. */
export const PageState = ({ icon, title, children }: PageStateProps) => (
  <section class="page-state">
    <span class="page-state-icon">
      <NamedIcon name={icon} />
    </span>
    <h1 tabIndex={-1}>{title}</h1>
    {children}
  </section>
)

export const SignedOut = ({ signIn }: { signIn: string | null }) => (
  <PageState icon="key" title="Sign in to see the fleet">
    <p>
      Open the login link printed by <code class="command">npm start</code>, or run{' '}
      <code class="command">npx lcm open</code> for a new one.
    </p>
    {signIn !== null && (
      <p>
        <a class="button primary" href={signIn}>
          Sign in with your account
        </a>
      </p>
    )}
    <p class="muted">Links work once. This page goes on by itself as soon as you are signed in.</p>
  </PageState>
)

/** Somebody who is signed in already may come here with an old link, too: the way on is the same. */
export function LoginFailed() {
  const connection = useConsole().state.connection.value
  const signIn = connection.state === 'signed-out' ? connection.signIn : null
  return (
    <PageState icon="key" title="This login did not work">
      <p>
        A login link works once and for ten minutes. Run <code class="command">npx lcm open</code> for a new one.
      </p>
      {signIn !== null && (
        <p class="muted">An account of an identity provider needs a role of LCM: ask whoever gives those out.</p>
      )}
      <a class="button" href="#/overview">
        Go on
      </a>
    </PageState>
  )
}

/** Nothing was ever read: there is no page to show a banner on. */
export function Unreachable({ because, retryAtMs }: { because: string; retryAtMs: number }) {
  const { stream } = useConsole()
  return (
    <PageState icon="offline" title="LCM does not answer">
      <p>
        {because}. <RetryCountdown retryAtMs={retryAtMs} />
      </p>
      <p class="muted">
        Is it running? <code class="command">npm start</code> starts it, <code class="command">npx lcm doctor</code>{' '}
        says what is wrong.
      </p>
      <button type="button" class="button primary" onClick={stream.retryNow}>
        Retry now
      </button>
    </PageState>
  )
}

/** A defect of the console: whoever meets it can say what it was. */
export const NotDrawn = ({ failure, onRetry }: { failure: unknown; onRetry: () => void }) => (
  <PageState icon="close" title="This page can't be shown">
    <p>
      The console has a defect here: <code>{String(failure)}</code>
    </p>
    <p class="muted">
      The fleet is not touched by it, and the other pages go on. <code class="command">npx lcm get</code> shows the
      same.
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
      Reading the fleet…
    </h1>
    <span class="bone title" />
    {SKELETON_ROWS.map(row => (
      <span key={row} class="bone row" />
    ))}
  </section>
)

interface NotFoundProps {
  readonly title: string
  /** The list to look at instead. */
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
