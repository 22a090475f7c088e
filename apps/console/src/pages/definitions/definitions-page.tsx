import { NamedIcon, StatusIcon } from '../../parts/icons.tsx'
import { PageState } from '../../parts/page-states.tsx'
import { useConsole } from '../../parts/wiring.ts'
import { isAllowed } from '../../permission.ts'
import type { Query } from '../../router.ts'
import { toneOf } from '../../status-look.ts'
import { countText } from '../../wording.ts'
import { CreateDialog } from './definition-dialog.tsx'
import {
  DEFINITION_STATES,
  type DefinitionFilter,
  type DefinitionGroup,
  definitionsHash,
  filterOf,
  groupsOf,
  matches,
  NO_FILTER,
} from './definition-groups.ts'
import { DefinitionTable } from './definition-table.tsx'

export function DefinitionsPage({ query }: { query: Query }) {
  const { state } = useConsole()
  const groups = groupsOf(state.live.definition.all().values())
  const filter = filterOf(query)
  if (groups.length === 0) return <NoDefinitions />
  const shown = groups.filter(group => matches(group, filter))
  return (
    <section class="page">
      <Headline groups={groups} />
      <FilterBar filter={filter} groups={groups} />
      <Creations />
      {shown.length > 0 ? <DefinitionTable groups={shown} isOpen={filter.status !== null} /> : <NoMatch />}
    </section>
  )
}

const versionsOf = (groups: readonly DefinitionGroup[]) => groups.flatMap(({ current, others }) => [current, ...others])

function Headline({ groups }: { groups: readonly DefinitionGroup[] }) {
  const bookable = groups.filter(({ current }) => current.status === 'ACTIVE').length
  return (
    <header class="headline">
      <div>
        <h1 tabIndex={-1}>Definitions</h1>
        <p class="muted">
          {countText(groups.length, 'lab')}, {bookable} can be booked
        </p>
      </div>
      <NewButton />
    </header>
  )
}

function NewButton() {
  const { state, dialog } = useConsole()
  if (!isAllowed(state.info.value, 'createDefinition')) return null
  return (
    <button
      type="button"
      class="button primary"
      onClick={() => {
        dialog.value = <CreateDialog />
      }}
    >
      <NamedIcon name="plus" />
      New definition
    </button>
  )
}

function FilterBar({ filter, groups }: { filter: DefinitionFilter; groups: readonly DefinitionGroup[] }) {
  const { router } = useConsole()
  const choose = (changes: Partial<DefinitionFilter>) => router.replace(definitionsHash({ ...filter, ...changes }))
  const versions = versionsOf(groups)
  return (
    <search class="filters">
      <fieldset class="chips">
        <legend class="sr-only">Filter by status</legend>
        <button
          type="button"
          class="chip"
          aria-pressed={filter.status === null}
          onClick={() => choose({ status: null })}
        >
          All <span class="number">{groups.length}</span>
        </button>
        {DEFINITION_STATES.map(status => (
          <button
            key={status}
            type="button"
            class={`chip tone-${toneOf(status)}`}
            aria-pressed={filter.status === status}
            onClick={() => choose({ status: filter.status === status ? null : status })}
          >
            <StatusIcon status={status} />
            {status} <span class="number">{versions.filter(each => each.status === status).length}</span>
          </button>
        ))}
      </fieldset>
      <span class="filter-picks">
        <label class="search">
          <NamedIcon name="search" />
          <span class="sr-only">Search definitions</span>
          <input
            type="search"
            placeholder="Name, title, node…"
            value={filter.text}
            onInput={event => choose({ text: event.currentTarget.value })}
          />
        </label>
      </span>
    </search>
  )
}

/** Accepted, but not yet seen on the stream: so it is no row. */
function Creations() {
  const { asks } = useConsole()
  return (
    <div aria-live="polite">
      {asks.creations.value
        .filter(({ kind }) => kind === 'definition')
        .map(creation => (
          <p key={creation.id} class="creation">
            <NamedIcon name="waiting" />
            <span>
              Asked for <strong>{creation.name}</strong>…
            </span>
          </p>
        ))}
    </div>
  )
}

function NoMatch() {
  const { router } = useConsole()
  return (
    <div class="no-match">
      <p>No definition matches.</p>
      <button type="button" class="button" onClick={() => router.replace(definitionsHash(NO_FILTER))}>
        Show all
      </button>
    </div>
  )
}

const NoDefinitions = () => (
  <PageState icon="flask" title="No definitions yet">
    <p>A definition is a lab that people can book: a topology as CML exports it, and what it takes to run it.</p>
    <Creations />
    <NewButton />
    <p class="muted">
      Or from the command line: <code>lcm create definition NAME -f lab.yaml</code>
    </p>
  </PageState>
)
