import type { WorkerView } from '@lcm/contract/worker'
import { countText, unknownPricesText, usdText } from '@lcm/domain/text/format-amounts'
import { untracked, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { Creations, Headline, NewButton } from '../../../parts/list/list-page-header.tsx'
import { NoMatch } from '../../../parts/list/no-match.tsx'
import { useFilterChange } from '../../../parts/list/use-filter-change.ts'
import { PageState } from '../../../parts/shell/page-states.tsx'
import { browserClock } from '../../../state/browser-clock.ts'
import { type FleetSummary, summaryOf } from '../../../state/fleet-summary.ts'
import { isAllowed } from '../../../state/permission.ts'
import type { Query } from '../../../state/router.ts'
import { CreateDialog } from '../actions/create-dialog.tsx'
import { BulkBar } from './bulk-bar.tsx'
import type { Selection } from './selection.ts'
import { filterOf, isFiltering, matcherOf, NO_FILTER, workersHash } from './worker-filter.ts'
import { WorkerFilterBar } from './worker-filter-bar.tsx'
import { type WorkerSorter, workerSorter } from './worker-sort.ts'
import { WorkerTable } from './worker-table.tsx'

export function WorkersPage({ query }: { query: Query }) {
  const { state } = useConsole()
  const order = useRef<WorkerSorter | null>(null)
  const selection = useSignal<Selection>(new Set())
  const filter = filterOf(query)
  const change = useFilterChange(filterOf, workersHash)
  const workers = useFleet()
  if (workers.length === 0) return <NoWorkers />
  const summary = summaryOf(workers)
  order.current ??= workerSorter()
  const shown = order.current.sorted(workers.filter(matcherOf(filter)), filter.sort, state.samples.of)
  const mayAct = isAllowed(state.info.value, 'terminateWorker')
  return (
    <section class="page">
      <FleetHeadline summary={summary} />
      <WorkerFilterBar filter={filter} summary={summary} workers={workers} />
      <Creations kind="worker" />
      {shown.length > 0 ? (
        <WorkerTable
          workers={shown}
          sort={filter.sort}
          onSort={sort => change({ sort })}
          selection={mayAct ? selection : null}
        />
      ) : (
        <NoMatch all={workersHash(NO_FILTER)} isFiltered={isFiltering(filter)} none={<NoneLeft />}>
          No workers match the filter.
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
      <span class="muted">per hour for machines and disks. {unknownPricesText(summary.unknownPrices)}</span>
    </p>
    <NewWorkerButton />
  </Headline>
)

const NewWorkerButton = () => (
  <NewButton route="createWorker" form={() => <CreateDialog />}>
    Create worker
  </NewButton>
)

/** Terminated workers still have a record. */
const NoneLeft = () => (
  <>
    <p>All workers are terminated. Use the status filter above to see them.</p>
    <NewWorkerButton />
  </>
)

const NoWorkers = () => (
  <PageState icon="flask" title="No workers yet">
    <p>A worker is a machine that runs Cisco Modeling Labs. Create one and watch each stage of its boot.</p>
    <Creations kind="worker" />
    <NewWorkerButton />
    <p class="muted">
      Or from the command line: <code>lcm create worker --template metal</code>
    </p>
  </PageState>
)

/** Up to this size the list is sorted on every change. */
const SMALL_FLEET = 500
/** Sort interval of larger fleets: each sort allocates about a megabyte. */
const SORT_INTERVAL_MS = 250

/** All workers, updated on changes. */
export function useFleet(): readonly WorkerView[] {
  const { state } = useConsole()
  const all = () => [...state.live.worker.all().values()]
  const fleet = useSignal<readonly WorkerView[]>(untracked(all))
  const throttle = useRef<{ end: (() => void) | null; isBehind: boolean }>({ end: null, isBehind: false }).current
  useSignalEffect(() => {
    const update = () => {
      fleet.value = untracked(all)
      if (fleet.peek().length <= SMALL_FLEET) return
      throttle.isBehind = false
      throttle.end = browserClock.after(SORT_INTERVAL_MS, () => {
        throttle.end = null
        if (throttle.isBehind) update()
      })
    }
    state.live.worker.all()
    if (throttle.end === null) update()
    else throttle.isBehind = true
  })
  useEffect(() => () => throttle.end?.(), [throttle])
  return fleet.value
}
