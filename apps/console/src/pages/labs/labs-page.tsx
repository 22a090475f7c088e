import { LAB_STATUSES, type LabRecord } from '@lcm/domain/lablet/lab-record'
import { NamedIcon, StatusIcon } from '../../parts/icons.tsx'
import { PageState } from '../../parts/page-states.tsx'
import { useConsole } from '../../parts/wiring.ts'
import type { Query } from '../../router.ts'
import { toneOf } from '../../status-look.ts'
import { countText } from '../../wording.ts'
import { filterOf, inOrder, type LabFilter, labsHash, matches, NO_FILTER } from './lab-filter.ts'
import { LabTable } from './lab-table.tsx'

export function LabsPage({ query }: { query: Query }) {
  const { state } = useConsole()
  const labs = [...state.live.lab.all().values()]
  const filter = filterOf(query)
  if (labs.length === 0) return <NoLabs />
  const workers = state.live.worker.all()
  const shown = inOrder(labs.filter(lab => matches(lab, filter, workers.get(lab.worker_id)?.name ?? '')))
  return (
    <section class="page">
      <Headline labs={labs} />
      <FilterBar filter={filter} labs={labs} />
      {shown.length > 0 ? <LabTable labs={shown} /> : <NoMatch />}
    </section>
  )
}

function Headline({ labs }: { labs: readonly LabRecord[] }) {
  const present = labs.filter(({ status }) => status !== 'DELETED')
  const bound = present.filter(({ session_id }) => session_id !== null).length
  return (
    <header class="headline">
      <div>
        <h1 tabIndex={-1}>Labs</h1>
        <p class="muted">
          {countText(present.length, 'lab')} on all workers, {bound} for a session
        </p>
      </div>
    </header>
  )
}

interface FilterProps {
  readonly filter: LabFilter
  readonly labs: readonly LabRecord[]
}

function FilterBar({ filter, labs }: FilterProps) {
  const { router } = useConsole()
  const choose = (changes: Partial<LabFilter>) => router.replace(labsHash({ ...filter, ...changes }))
  return (
    <search class="filters labs-filters">
      <StatusChips filter={filter} labs={labs} choose={choose} />
      <span class="filter-picks">
        <label class="pick">
          <span class="sr-only">Session</span>
          <select
            value={filter.isBound === null ? '' : filter.isBound ? 'yes' : 'no'}
            onChange={event => choose({ isBound: filterOf({ bound: event.currentTarget.value }).isBound })}
          >
            <option value="">Bound or not</option>
            <option value="yes">For a session</option>
            <option value="no">Unbound</option>
          </select>
        </label>
        <WorkerField filter={filter} labs={labs} choose={choose} />
        <label class="search">
          <NamedIcon name="search" />
          <span class="sr-only">Search labs</span>
          <input
            type="search"
            placeholder="Title, owner, id…"
            value={filter.text}
            onInput={event => choose({ text: event.currentTarget.value })}
          />
        </label>
      </span>
    </search>
  )
}

interface ChoiceProps extends FilterProps {
  readonly choose: (changes: Partial<LabFilter>) => void
}

function StatusChips({ filter, labs, choose }: ChoiceProps) {
  const countOf = (status: LabRecord['status']) => labs.filter(lab => lab.status === status).length
  const toggled = (status: LabRecord['status']) =>
    filter.statuses.includes(status) ? filter.statuses.filter(each => each !== status) : [...filter.statuses, status]
  return (
    <fieldset class="chips">
      <legend class="sr-only">Filter by status</legend>
      <button
        type="button"
        class="chip"
        aria-pressed={filter.statuses.length === 0}
        onClick={() => choose({ statuses: [] })}
      >
        All <span class="number">{labs.length - countOf('DELETED')}</span>
      </button>
      {LAB_STATUSES.filter(status => countOf(status) > 0 || filter.statuses.includes(status)).map(status => (
        <button
          key={status}
          type="button"
          class={`chip tone-${toneOf(status)}`}
          aria-pressed={filter.statuses.includes(status)}
          onClick={() => choose({ statuses: toggled(status) })}
        >
          <StatusIcon status={status} />
          {status} <span class="number">{countOf(status)}</span>
        </button>
      ))}
    </fieldset>
  )
}

function WorkerField({ filter, labs, choose }: ChoiceProps) {
  const { state } = useConsole()
  const ids = new Set(labs.map(({ worker_id }) => worker_id))
  if (filter.workerId !== '') ids.add(filter.workerId)
  const named = [...ids].map(id => ({ id, name: state.live.worker.get(id)?.name ?? id }))
  return (
    <label class="pick">
      <span class="sr-only">Worker</span>
      <select value={filter.workerId} onChange={event => choose({ workerId: event.currentTarget.value })}>
        <option value="">Any worker</option>
        {named
          .toSorted((a, b) => a.name.localeCompare(b.name))
          .map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
      </select>
    </label>
  )
}

function NoMatch() {
  const { router } = useConsole()
  return (
    <div class="no-match">
      <p>No lab matches.</p>
      <button type="button" class="button" onClick={() => router.replace(labsHash(NO_FILTER))}>
        Show all
      </button>
    </div>
  )
}

const NoLabs = () => (
  <PageState icon="flask" title="No labs to see">
    <p>
      Labs come with sessions: <a href="#/sessions">book one</a>. What people make on CML themselves is found too, every
      half hour.
    </p>
  </PageState>
)
