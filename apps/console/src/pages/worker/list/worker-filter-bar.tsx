import { WORKER_STATUSES, type Worker } from '@lcm/domain/worker/worker'
import { HealthPick, optionOf, Pick, SearchField, StatusChips } from '../../../parts/list/filter-controls.tsx'
import { useFilterChange } from '../../../parts/list/use-filter-change.ts'
import type { FleetSummary } from '../../../state/fleet-summary.ts'
import { choicesOf, filterOf, type WorkerFilter, workersHash } from './worker-filter.ts'

interface WorkerFilterBarProps {
  readonly filter: WorkerFilter
  readonly summary: FleetSummary
  readonly workers: readonly Worker[]
}

export function WorkerFilterBar({ filter, summary, workers }: WorkerFilterBarProps) {
  const change = useFilterChange(filterOf, workersHash)
  const regions = choicesOf(new Set(workers.map(worker => worker.aws_region)), filter.region)
  const templates = choicesOf(new Set(workers.map(worker => worker.template_name)), filter.template)
  return (
    <search class="filters">
      <StatusChips
        statuses={WORKER_STATUSES.filter(status => summary.byStatus.has(status) || filter.statuses.includes(status))}
        countOf={status => summary.byStatus.get(status) ?? 0}
        allCount={summary.present}
        chosen={filter.statuses}
        onChoose={next => change(({ statuses }) => ({ statuses: next(statuses) }))}
      />
      <div class="narrowing">
        <HealthPick chosen={filter.health} onPick={health => change({ health })} />
        <Pick
          label="Region"
          any="All regions"
          options={regions.map(optionOf)}
          chosen={filter.region}
          onPick={region => change({ region })}
        />
        <Pick
          label="Template"
          any="All templates"
          options={templates.map(optionOf)}
          chosen={filter.template}
          onPick={template => change({ template })}
        />
        <SearchField
          label="Search by name"
          placeholder="Name, id, address"
          text={filter.text}
          onText={text => change({ text })}
        />
      </div>
    </search>
  )
}
