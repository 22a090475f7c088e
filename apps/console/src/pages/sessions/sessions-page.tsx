import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { NamedIcon } from '../../parts/icons.tsx'
import { PageState } from '../../parts/page-states.tsx'
import { useConsole } from '../../parts/wiring.ts'
import { isAllowed } from '../../permission.ts'
import type { Query } from '../../router.ts'
import { countText } from '../../wording.ts'
import { BookDialog } from './book-dialog.tsx'
import { FilterBar } from './filter-bar.tsx'
import { filterOf, isDrawn, isListed, matches, NO_FILTER, type SessionFilter, sessionsHash } from './session-filter.ts'
import { SessionTable } from './session-table.tsx'
import { inOrder, isWaiting } from './session-view.ts'
import { Timeline } from './timeline-view.tsx'
import { type Sessions, useSessions } from './use-sessions.ts'

export function SessionsPage({ query }: { query: Query }) {
  const { state } = useConsole()
  const filter = filterOf(query)
  const sessions = useSessions()
  if (sessions.all.length === 0 && sessions.isWhole) return <NoSessions />
  const workers = state.live.worker.all()
  const surroundings = {
    me: state.info.value?.actor.id ?? '',
    workerName: (id: string) => workers.get(id)?.name ?? id,
  }
  const found = sessions.all.filter(session => matches(session, filter, surroundings))
  const listed = inOrder(found.filter(session => isListed(session, filter)))
  return (
    <section class="page">
      <Headline sessions={sessions.all} />
      <FilterBar filter={filter} sessions={sessions.all} />
      <Creations />
      <PastMissing sessions={sessions} />
      <Timeline sessions={found.filter(session => isDrawn(session, filter))} filter={filter} />
      <section aria-labelledby="table-title">
        <h2 id="table-title" class="table-title" tabIndex={-1}>
          {countText(listed.length, 'session')}
          {filter.statuses.length === 0 && <span class="muted"> not over</span>}
        </h2>
        {listed.length > 0 ? <SessionTable sessions={listed} /> : <NoMatch filter={filter} />}
      </section>
    </section>
  )
}

function Headline({ sessions }: { sessions: readonly LabletSession[] }) {
  const present = sessions.filter(({ status }) => !isFinal(status))
  const waiting = present.filter(isWaiting).length
  const running = present.filter(({ status }) => status === 'READY' || status === 'RUNNING').length
  return (
    <header class="headline">
      <div>
        <h1 tabIndex={-1}>Sessions</h1>
        <p class="muted">
          {countText(present.length, 'session')}, {running} up, {waiting} waiting
        </p>
      </div>
      <BookButton />
    </header>
  )
}

function BookButton() {
  const { state, dialog } = useConsole()
  if (!isAllowed(state.info.value, 'createSession')) return null
  return (
    <button
      type="button"
      class="button primary"
      onClick={() => {
        dialog.value = <BookDialog />
      }}
    >
      <NamedIcon name="plus" />
      Book a session
    </button>
  )
}

/** Accepted, but not yet seen on the stream: so it is no row. */
function Creations() {
  const { asks } = useConsole()
  return (
    <div aria-live="polite">
      {asks.creations.value
        .filter(({ kind }) => kind === 'session')
        .map(creation => (
          <p key={creation.id} class="creation">
            <NamedIcon name="waiting" />
            <span>
              Asked for a session of <strong>{creation.name}</strong>…
            </span>
          </p>
        ))}
    </div>
  )
}

/** A past that could not be read is not passed off as an empty one. */
function PastMissing({ sessions }: { sessions: Sessions }) {
  if (sessions.error === null) return null
  return (
    <p class="banner tone-orange" role="alert">
      <span>Sessions that are over are missing here: {sessions.error}</span>
      <button type="button" class="button small" onClick={sessions.again}>
        Try again
      </button>
    </p>
  )
}

function NoMatch({ filter }: { filter: SessionFilter }) {
  const { router } = useConsole()
  const { range, atMs } = filter
  return (
    <div class="no-match">
      <p>No session matches.</p>
      <button type="button" class="button" onClick={() => router.replace(sessionsHash({ ...NO_FILTER, range, atMs }))}>
        Show all
      </button>
    </div>
  )
}

const NoSessions = () => (
  <PageState icon="flask" title="No sessions yet">
    <p>
      A session is somebody's lab for a while. Book one: LCM finds it a worker, starts the lab in time, and takes it
      down.
    </p>
    <Creations />
    <BookButton />
    <p class="muted">
      Or from the command line: <code>lcm book DEFINITION --wait</code>
    </p>
  </PageState>
)
