import { readList } from '@lcm/client/list-pages'
import type { Person } from '@lcm/domain/person'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { SearchField } from '../../parts/list/filter-controls.tsx'
import { Headline, NewButton } from '../../parts/list/list-page-header.tsx'
import { NoMatch } from '../../parts/list/no-match.tsx'
import { useFilterChange } from '../../parts/list/use-filter-change.ts'
import { PageState } from '../../parts/shell/page-states.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { useRead } from '../../parts/use-read.ts'
import { isAllowed } from '../../state/permission.ts'
import { pageHash, type Query } from '../../state/router.ts'
import { PersonDialog } from './person-dialog.tsx'
import { matching } from './person-list.ts'
import { PersonRow } from './person-row.tsx'

const READ_EVERY_MS = 30_000
const SHOWN_MAX = 200

interface Invitation {
  readonly name: string
  readonly url: string
  readonly minutes: number
}

export function PeoplePage({ query }: { query: Query }) {
  const { state } = useConsole()
  return isAllowed(state.info.value, 'listPeople') ? <People search={query.q ?? ''} /> : <NotAllowed />
}

const NotAllowed = () => (
  <PageState icon="lock" title="Not available for your role">
    <p>Only administrators and operators can see people.</p>
  </PageState>
)

function People({ search }: { search: string }) {
  const read = useRead(
    'people',
    (client, signal) => readList(page => client.call('listPeople', { query: page, signal })),
    { everyMs: READ_EVERY_MS },
  )
  const invitation = useSignal<Invitation | null>(null)
  const people = read.value?.items ?? []
  return (
    <section class="page people">
      <Headline title="People" summary={summaryOf(read.value?.items.length)}>
        <NewButton route="createPerson" form={() => <PersonDialog person={null} onSaved={read.reload} />}>
          Create person
        </NewButton>
      </Headline>
      {invitation.value !== null && <InvitationLink invitation={invitation} />}
      {read.error !== null && <p class="refusal tone-red">Could not load the people: {read.error}</p>}
      {read.value === null && read.error === null && <span class="bone row" aria-busy="true" />}
      {read.value !== null && (
        <PersonList
          people={people}
          search={search}
          onChanged={read.reload}
          onInvited={({ name }, { url, expires_in_seconds }) => {
            const minutes = Math.round(expires_in_seconds / 60)
            invitation.value = { name, url: new URL(url, location.href).href, minutes }
          }}
        />
      )}
    </section>
  )
}

const summaryOf = (count: number | undefined): string =>
  count === undefined ? 'Loading people…' : count === 1 ? '1 person' : `${count} people`

const InvitationLink = ({ invitation }: { invitation: { value: Invitation | null } }) => {
  if (invitation.value === null) return null
  const { name, url, minutes } = invitation.value
  return (
    <ShownOnce
      key={url}
      secret={url}
      verb="Copy link"
      onDone={() => {
        invitation.value = null
      }}
    >
      Send this link to <strong>{name}</strong> only: anyone who opens it within {minutes} minutes is signed in as this
      person. It works once and won't be shown again.
    </ShownOnce>
  )
}

interface ListProps extends Omit<Parameters<typeof PersonRow>[0], 'person'> {
  readonly people: readonly Person[]
  readonly search: string
}

function PersonList({ people, search, ...row }: ListProps) {
  const change = useFilterChange(
    ({ q = '' }: Query) => ({ q }),
    filter => pageHash('people', filter),
  )
  const found = matching(people, search)
  return (
    <>
      <search class="people-search">
        <SearchField
          label="Search people"
          placeholder="Name, email, role, group"
          text={search}
          onText={q => change({ q })}
        />
      </search>
      {found.length === 0 ? (
        <NoMatch all={pageHash('people')}>No person matches the search.</NoMatch>
      ) : (
        <ul class="card person-list">
          {found.slice(0, SHOWN_MAX).map(person => (
            <PersonRow key={person.id} person={person} {...row} />
          ))}
        </ul>
      )}
      {found.length > SHOWN_MAX && (
        <p class="muted">
          The first {SHOWN_MAX} of {found.length} are shown. Search to see others.
        </p>
      )}
    </>
  )
}
