import { WORKER_STATUSES, type Worker, type WorkerStatus } from '@lcm/domain/worker/worker'
import { NamedIcon, StatusIcon } from '../../parts/icons.tsx'
import { useConsole } from '../../parts/wiring.ts'
import { toneOf } from '../../status-look.ts'
import type { FleetSummary } from '../../worker-view.ts'
import { choicesOf, type WorkerFilter, workersHash } from './worker-filter.ts'

interface FilterBarProps {
  readonly filter: WorkerFilter
  readonly summary: FleetSummary
  readonly workers: readonly Worker[]
}

export function FilterBar({ filter, summary, workers }: FilterBarProps) {
  const { router } = useConsole()
  const change = (part: Partial<WorkerFilter>) => router.replace(workersHash({ ...filter, ...part }))
  const chips = WORKER_STATUSES.filter(status => summary.byStatus.has(status) || filter.statuses.includes(status))
  const regions = choicesOf(new Set(workers.map(worker => worker.aws_region)), filter.region)
  const templates = choicesOf(new Set(workers.map(worker => worker.template_name)), filter.template)
  return (
    <search class="filters">
      <fieldset class="chips">
        <legend class="sr-only">Filter by status</legend>
        <button
          type="button"
          class="chip"
          aria-pressed={filter.statuses.length === 0}
          onClick={() => change({ statuses: [] })}
        >
          All <span class="number">{summary.present}</span>
        </button>
        {chips.map(status => (
          <StatusChip
            key={status}
            status={status}
            count={summary.byStatus.get(status) ?? 0}
            statuses={filter.statuses}
            onChange={statuses => change({ statuses })}
          />
        ))}
      </fieldset>
      <div class="narrowing">
        <Choice
          name="Region"
          all="All regions"
          values={regions}
          chosen={filter.region}
          onChange={region => change({ region })}
        />
        <Choice
          name="Template"
          all="All templates"
          values={templates}
          chosen={filter.template}
          onChange={template => change({ template })}
        />
        <label class="search">
          <NamedIcon name="search" />
          <span class="sr-only">Search by name</span>
          <input
            type="search"
            placeholder="Name, id, address"
            value={filter.text}
            onInput={event => change({ text: event.currentTarget.value })}
          />
        </label>
      </div>
    </search>
  )
}

interface ChipProps {
  readonly status: WorkerStatus
  readonly count: number
  readonly statuses: readonly WorkerStatus[]
  readonly onChange: (statuses: readonly WorkerStatus[]) => void
}

function StatusChip({ status, count, statuses, onChange }: ChipProps) {
  const isPressed = statuses.includes(status)
  return (
    <button
      type="button"
      class={`chip tone-${toneOf(status)}`}
      aria-pressed={isPressed}
      onClick={() => onChange(isPressed ? statuses.filter(each => each !== status) : [...statuses, status])}
    >
      <StatusIcon status={status} />
      {status} <span class="number">{count}</span>
    </button>
  )
}

interface ChoiceProps {
  readonly name: string
  /** What the choice of none is called. */
  readonly all: string
  readonly values: readonly string[]
  readonly chosen: string
  readonly onChange: (value: string) => void
}

const Choice = ({ name, all, values, chosen, onChange }: ChoiceProps) => (
  <select class="narrow" aria-label={name} value={chosen} onChange={event => onChange(event.currentTarget.value)}>
    <option value="">{all}</option>
    {values.map(value => (
      <option key={value} value={value}>
        {value}
      </option>
    ))}
  </select>
)
