import { WORKER_STATUSES, type WorkerStatus } from '@lcm/domain/worker/worker'
import { NamedIcon, StatusIcon } from '../parts/icons.tsx'
import { PageState } from '../parts/page-states.tsx'
import { useConsole } from '../parts/wiring.ts'
import { WorkerTable } from '../parts/worker-table.tsx'
import { isAllowed } from '../permission.ts'
import { NO_FILTER, type WorkerFilter, workersHash } from '../router.ts'
import { countText, usdText } from '../wording.ts'
import { type FleetSummary, inOrder, matches, summaryOf, toneOf } from '../worker-view.ts'

export function WorkersPage({ filter }: { filter: WorkerFilter }) {
  const { state } = useConsole()
  const workers = [...state.workers.all().values()]
  const summary = summaryOf(workers)
  if (workers.length === 0) return <NoWorkers />
  const shown = inOrder(workers.filter(worker => matches(worker, filter)))
  return (
    <section class="page">
      <Headline summary={summary} />
      <FilterBar filter={filter} summary={summary} />
      <Creations />
      {shown.length > 0 ? <WorkerTable workers={shown} /> : <NoMatch />}
    </section>
  )
}

const Headline = ({ summary }: { summary: FleetSummary }) => (
  <header class="headline">
    <div>
      <h1 tabIndex={-1}>Workers</h1>
      <p class="muted">
        {countText(summary.present, 'worker')}, {summary.running} running
      </p>
    </div>
    <p class="cost">
      <span class="cost-figure number">{usdText(summary.usdPerHour)}</span>
      <span class="muted">per hour, machines that run</span>
    </p>
    <NewWorkerButton />
  </header>
)

function NewWorkerButton() {
  const { state, dialog } = useConsole()
  if (!isAllowed(state.info.value, 'createWorker')) return null
  return (
    <button
      type="button"
      class="button primary"
      onClick={() => {
        dialog.value = { kind: 'create' }
      }}
    >
      <NamedIcon name="plus" />
      New worker
    </button>
  )
}

function FilterBar({ filter, summary }: { filter: WorkerFilter; summary: FleetSummary }) {
  const { router } = useConsole()
  const chips = WORKER_STATUSES.filter(status => summary.byStatus.has(status) || filter.statuses.includes(status))
  return (
    <search class="filters">
      <fieldset class="chips">
        <legend class="sr-only">Filter by status</legend>
        <button
          type="button"
          class="chip"
          aria-pressed={filter.statuses.length === 0}
          onClick={() => router.replace(workersHash({ ...filter, statuses: [] }))}
        >
          All <span class="number">{summary.present}</span>
        </button>
        {chips.map(status => (
          <StatusChip key={status} status={status} filter={filter} count={summary.byStatus.get(status) ?? 0} />
        ))}
      </fieldset>
      <label class="search">
        <NamedIcon name="search" />
        <span class="sr-only">Search by name</span>
        <input
          type="search"
          placeholder="Search by name"
          value={filter.text}
          onInput={event => router.replace(workersHash({ ...filter, text: event.currentTarget.value }))}
        />
      </label>
    </search>
  )
}

function StatusChip({ status, filter, count }: { status: WorkerStatus; filter: WorkerFilter; count: number }) {
  const { router } = useConsole()
  const isPressed = filter.statuses.includes(status)
  const statuses = isPressed ? filter.statuses.filter(each => each !== status) : [...filter.statuses, status]
  return (
    <button
      type="button"
      class={`chip tone-${toneOf(status)}`}
      aria-pressed={isPressed}
      onClick={() => router.replace(workersHash({ ...filter, statuses }))}
    >
      <StatusIcon status={status} />
      {status} <span class="number">{count}</span>
    </button>
  )
}

/** Accepted, but not yet seen on the stream: so it is no row. */
function Creations() {
  const { asks } = useConsole()
  return (
    <div aria-live="polite">
      {asks.creations.value.map(creation => (
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
      <p>No worker matches.</p>
      <button type="button" class="button" onClick={() => router.replace(workersHash(NO_FILTER))}>
        Show all
      </button>
    </div>
  )
}

const NoWorkers = () => (
  <PageState icon="flask" title="No workers yet">
    <p>A worker is a machine that runs Cisco Modeling Labs. Ask for one and watch it boot, stage by stage.</p>
    <Creations />
    <NewWorkerButton />
    <p class="muted">
      Or from the command line: <code>lcm create worker --template metal</code>
    </p>
  </PageState>
)
