import { LAB_STATUSES, type LabRecord } from '@lcm/domain/lab/lab-record'
import { countText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../parts/console-context.ts'
import { Pick, SearchField, StatusChips } from '../../parts/list/filter-controls.tsx'
import { Headline } from '../../parts/list/list-page-header.tsx'
import { NoMatch } from '../../parts/list/no-match.tsx'
import { useFilterChange } from '../../parts/list/use-filter-change.ts'
import { PageState } from '../../parts/shell/page-states.tsx'
import { canSeeAllSessions } from '../../state/permission.ts'
import type { Query } from '../../state/router.ts'
import { filterOf, inOrder, isFiltering, type LabFilter, labsHash, matches, NO_FILTER } from './lab-filter.ts'
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
      <LabsHeadline labs={labs} />
      <FilterBar filter={filter} labs={labs} />
      {shown.length > 0 ? (
        <LabTable labs={shown} />
      ) : (
        <NoMatch all={labsHash(NO_FILTER)} isFiltered={isFiltering(filter)} none="There are no labs.">
          No labs match the filter.
        </NoMatch>
      )}
    </section>
  )
}

function LabsHeadline({ labs }: { labs: readonly LabRecord[] }) {
  const present = labs.filter(({ status }) => status !== 'DELETED')
  const bound = present.filter(({ session_id }) => session_id !== null).length
  const seesAll = canSeeAllSessions(useConsole().state.info.value)
  const summary = seesAll
    ? `${countText(present.length, 'lab')} on all workers, ${bound} with a session`
    : `${countText(present.length, 'lab')}, ${bound} with one of your sessions; labs of other users' sessions are hidden`
  return <Headline title="Labs" summary={summary} />
}

interface FilterProps {
  readonly filter: LabFilter
  readonly labs: readonly LabRecord[]
}

const BOUND = [
  { value: 'yes', name: 'With a session' },
  { value: 'no', name: 'Without a session' },
]

function FilterBar({ filter, labs }: FilterProps) {
  const { state } = useConsole()
  const change = useFilterChange(filterOf, labsHash)
  const countOf = (status: LabRecord['status']) => labs.filter(lab => lab.status === status).length
  const workerIds = new Set(labs.map(({ worker_id }) => worker_id))
  if (filter.workerId !== '') workerIds.add(filter.workerId)
  const workers = [...workerIds].map(id => ({ value: id, name: state.live.worker.get(id)?.name ?? id }))
  return (
    <search class="filters">
      <StatusChips
        statuses={LAB_STATUSES.filter(status => countOf(status) > 0 || filter.statuses.includes(status))}
        countOf={countOf}
        allCount={labs.length - countOf('DELETED')}
        chosen={filter.statuses}
        onChoose={next => change(({ statuses }) => ({ statuses: next(statuses) }))}
      />
      <div class="narrowing">
        <Pick
          label="Session"
          any="Any session"
          options={BOUND}
          chosen={filter.isBound === null ? '' : filter.isBound ? 'yes' : 'no'}
          onPick={bound => change({ isBound: filterOf({ bound }).isBound })}
        />
        <Pick
          label="Worker"
          any="Any worker"
          options={workers.toSorted((a, b) => a.name.localeCompare(b.name))}
          chosen={filter.workerId}
          onPick={workerId => change({ workerId })}
        />
        <SearchField
          label="Search labs"
          placeholder="Title, owner, id…"
          text={filter.text}
          onText={text => change({ text })}
        />
      </div>
    </search>
  )
}

const NoLabs = () => (
  <PageState icon="flask" title="No labs yet">
    <p>
      Labs are created for sessions: <a href="#/sessions">book a session</a>. Labs that people create in CML appear here
      within 30 minutes.
    </p>
  </PageState>
)
