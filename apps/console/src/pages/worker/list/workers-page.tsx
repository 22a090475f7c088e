import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { PageState } from '../../../parts/shell/page-states.tsx'
import { Creations, Headline, NewButton, NoMatch } from '../../../parts/table/list-page.tsx'
import { countText, usdText } from '../../../state/error-text.ts'
import { isAllowed } from '../../../state/permission.ts'
import type { Query } from '../../../state/router.ts'
import { type FleetSummary, summaryOf } from '../../../state/worker-view.ts'
import { CreateDialog } from '../actions/create-dialog.tsx'
import { BulkBar } from './bulk-bar.tsx'
import type { Selection } from './selection.ts'
import { useFleet } from './use-fleet.ts'
import { filterOf, isFiltering, matcherOf, NO_FILTER, workersHash } from './worker-filter.ts'
import { FilterBar } from './worker-filter-bar.tsx'
import { type WorkerOrder, workerOrder } from './worker-sort.ts'
import { WorkerTable } from './worker-table.tsx'

export function WorkersPage({ query }: { query: Query }) {
  const { state, router } = useConsole()
  const order = useRef<WorkerOrder | null>(null)
  const selection = useSignal<Selection>(new Set())
  const filter = filterOf(query)
  const workers = useFleet()
  if (workers.length === 0) return <NoWorkers />
  const summary = summaryOf(workers)
  order.current ??= workerOrder()
  const shown = order.current.sorted(workers.filter(matcherOf(filter)), filter.sort, state.samples.of)
  const mayAct = isAllowed(state.info.value, 'terminateWorker')
  return (
    <section class="page">
      <FleetHeadline summary={summary} />
      <FilterBar filter={filter} summary={summary} workers={workers} />
      <Creations kind="worker" />
      {shown.length > 0 ? (
        <WorkerTable
          workers={shown}
          sort={filter.sort}
          onSort={sort => router.replace(workersHash({ ...filter, sort }))}
          selection={mayAct ? selection : null}
        />
      ) : (
        <NoMatch all={workersHash(NO_FILTER)} isFiltered={isFiltering(filter)} none={<NoneLeft />}>
          No worker matches.
        </NoMatch>
      )}
      {mayAct && <BulkBar workers={shown} selection={selection} />}
    </section>
  )
}

const FleetHeadline = ({ summary }: { summary: FleetSummary }) => (
  <Headline title="Workers" summary={`${countText(summary.present, 'worker')}, ${summary.running} running`}>
    <p class="cost">
      <span class="cost-figure number">{usdText(summary.usdPerHour)}</span>
      <span class="muted">per hour, machines that run</span>
    </p>
    <NewWorkerButton />
  </Headline>
)

const NewWorkerButton = () => (
  <NewButton route="createWorker" form={() => <CreateDialog />}>
    New worker
  </NewButton>
)

/** Those that are gone are still on record. */
const NoneLeft = () => (
  <>
    <p>No worker is left. Those that are gone are found by their status above.</p>
    <NewWorkerButton />
  </>
)

const NoWorkers = () => (
  <PageState icon="flask" title="No workers yet">
    <p>A worker is a machine that runs Cisco Modeling Labs. Ask for one and watch it boot, stage by stage.</p>
    <Creations kind="worker" />
    <NewWorkerButton />
    <p class="muted">
      Or from the command line: <code>lcm create worker --template metal</code>
    </p>
  </PageState>
)
