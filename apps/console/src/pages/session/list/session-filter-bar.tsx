import { mayView } from '@lcm/contract/route-spec'
import { isFinal, type LabletSession, SESSION_STATUSES, type SessionStatus } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../../parts/console-context.ts'
import { HealthPick, optionOf, Pick, SearchField, StatusChips } from '../../../parts/list/filter-controls.tsx'
import { useFilterChange } from '../../../parts/list/use-filter-change.ts'
import { filterOf, type SessionFilter, sessionsHash } from './session-filter.ts'

interface FilterProps {
  readonly filter: SessionFilter
  readonly sessions: readonly LabletSession[]
}

export function SessionFilterBar({ filter, sessions }: FilterProps) {
  const change = useFilterChange(filterOf, sessionsHash)
  const names = new Set(sessions.map(({ definition }) => definition.name))
  if (filter.definition !== '') names.add(filter.definition)
  const countOf = (status: SessionStatus) => sessions.filter(session => session.status === status).length
  return (
    <search class="filters sessions-filters">
      <StatusChips
        statuses={SESSION_STATUSES.filter(status => countOf(status) > 0 || filter.statuses.includes(status))}
        countOf={countOf}
        allCount={sessions.filter(({ status }) => !isFinal(status)).length}
        chosen={filter.statuses}
        onChoose={next => change(({ statuses }) => ({ statuses: next(statuses) }))}
      />
      <span class="filters-end">
        <MineChip filter={filter} />
        <HealthPick chosen={filter.health} onPick={health => change({ health })} />
        <Pick
          label="Definition"
          any="Any definition"
          options={[...names].toSorted().map(optionOf)}
          chosen={filter.definition}
          onPick={definition => change({ definition })}
        />
        <SearchField
          label="Search sessions"
          placeholder="Id, owner or worker"
          text={filter.text}
          onText={text => change({ text })}
        />
      </span>
    </search>
  )
}

/** Users who see only their own sessions don't need this filter. */
function MineChip({ filter }: { filter: SessionFilter }) {
  const { state } = useConsole()
  const change = useFilterChange(filterOf, sessionsHash)
  const actor = state.info.value?.actor
  if (actor === undefined || !mayView({ ...actor, service: null }, '')) return null
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={filter.isMine}
      onClick={() => change(({ isMine }) => ({ isMine: !isMine }))}
    >
      Mine
    </button>
  )
}
