import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { countText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../../parts/console-context.ts'
import { Creations, Headline, NewButton } from '../../../parts/list/list-page-header.tsx'
import { NoMatch } from '../../../parts/list/no-match.tsx'
import { PageState } from '../../../parts/shell/page-states.tsx'
import { canSeeAllSessions } from '../../../state/permission.ts'
import type { Query } from '../../../state/router.ts'
import { BookDialog } from '../actions/book-dialog.tsx'
import { countsText, inOrder } from '../session-text.ts'
import { type Sessions, useSessions } from '../use-sessions.ts'
import { filterOf, isDrawn, isFiltering, isListed, matches, NO_FILTER, sessionsHash } from './session-filter.ts'
import { SessionFilterBar } from './session-filter-bar.tsx'
import { SessionTable } from './session-table.tsx'
import { Timeline } from './timeline.tsx'

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
      <SessionsHeadline sessions={sessions.all} />
      <SessionFilterBar filter={filter} sessions={sessions.all} />
      <Creations kind="session" of="a session of " />
      <PastMissing sessions={sessions} />
      <Timeline sessions={found.filter(session => isDrawn(session, filter))} filter={filter} />
      <section aria-labelledby="table-title">
        <h2 id="table-title" class="table-title" tabIndex={-1}>
          {countText(listed.length, 'session')}
          {filter.statuses.length === 0 && <span class="muted"> not finished</span>}
        </h2>
        {listed.length > 0 ? (
          <SessionTable sessions={listed} />
        ) : (
          <NoMatch
            all={sessionsHash({ ...NO_FILTER, range: filter.range, atMs: filter.atMs })}
            isFiltered={isFiltering(filter)}
            none={<NoneBooked />}
          >
            No sessions match the filter.
          </NoMatch>
        )}
      </section>
    </section>
  )
}

function SessionsHeadline({ sessions }: { sessions: readonly LabletSession[] }) {
  const seesAll = canSeeAllSessions(useConsole().state.info.value)
  return (
    <Headline title="Sessions" summary={countsText(sessions, seesAll)}>
      <BookButton />
    </Headline>
  )
}

const BookButton = () => (
  <NewButton route="createSession" form={() => <BookDialog />}>
    Book a session
  </NewButton>
)

/** Finished sessions that failed to load must not look like none. */
function PastMissing({ sessions }: { sessions: Sessions }) {
  if (sessions.error === null) return null
  return (
    <p class="banner tone-orange" role="alert">
      <span>Could not load finished sessions: {sessions.error}</span>
      <button type="button" class="button small" onClick={sessions.reload}>
        Try again
      </button>
    </p>
  )
}

const NoneBooked = () => (
  <>
    <p>No sessions are booked.</p>
    <BookButton />
  </>
)

const NoSessions = () => (
  <PageState icon="flask" title="No sessions yet">
    <p>
      A session is a lab for a limited time. Book one: LCM finds a worker, starts the lab on time and removes it
      afterwards.
    </p>
    <Creations kind="session" of="a session of " />
    <BookButton />
    <p class="muted">
      Or from the command line: <code>lcm book DEFINITION --wait</code>
    </p>
  </PageState>
)
