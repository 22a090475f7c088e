import { maySee } from '@lcm/contract/access'
import { isFinal, type LabletSession, SESSION_STATUSES, type SessionStatus } from '@lcm/domain/session/lablet-session'
import { NamedIcon, StatusIcon } from '../../parts/icons.tsx'
import { useConsole } from '../../parts/wiring.ts'
import { toneOf } from '../../status-look.ts'
import { type SessionFilter, sessionsHash } from './session-filter.ts'

interface FilterProps {
  readonly filter: SessionFilter
  readonly sessions: readonly LabletSession[]
}

export function FilterBar({ filter, sessions }: FilterProps) {
  return (
    <search class="filters sessions-filters">
      <StatusChips filter={filter} sessions={sessions} />
      <span class="filters-end">
        <MineChip filter={filter} />
        <DefinitionField filter={filter} sessions={sessions} />
        <TextField filter={filter} />
      </span>
    </search>
  )
}

function StatusChips({ filter, sessions }: FilterProps) {
  const { router } = useConsole()
  const counts = new Map<SessionStatus, number>()
  for (const { status } of sessions) counts.set(status, (counts.get(status) ?? 0) + 1)
  const present = sessions.filter(({ status }) => !isFinal(status)).length
  const shown = SESSION_STATUSES.filter(status => counts.has(status) || filter.statuses.includes(status))
  const toggled = (status: SessionStatus) =>
    filter.statuses.includes(status) ? filter.statuses.filter(each => each !== status) : [...filter.statuses, status]
  return (
    <fieldset class="chips">
      <legend class="sr-only">Filter by status</legend>
      <button
        type="button"
        class="chip"
        aria-pressed={filter.statuses.length === 0}
        onClick={() => router.replace(sessionsHash({ ...filter, statuses: [] }))}
      >
        All <span class="number">{present}</span>
      </button>
      {shown.map(status => (
        <button
          key={status}
          type="button"
          class={`chip tone-${toneOf(status)}`}
          aria-pressed={filter.statuses.includes(status)}
          onClick={() => router.replace(sessionsHash({ ...filter, statuses: toggled(status) }))}
        >
          <StatusIcon status={status} />
          {status} <span class="number">{counts.get(status) ?? 0}</span>
        </button>
      ))}
    </fieldset>
  )
}

/** Who sees nobody else's has nothing to tell apart. */
function MineChip({ filter }: { filter: SessionFilter }) {
  const { router, state } = useConsole()
  const actor = state.info.value?.actor
  if (actor === undefined || !maySee({ ...actor, service: null }, '')) return null
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={filter.isMine}
      onClick={() => router.replace(sessionsHash({ ...filter, isMine: !filter.isMine }))}
    >
      Mine
    </button>
  )
}

function DefinitionField({ filter, sessions }: FilterProps) {
  const { router } = useConsole()
  const names = new Set(sessions.map(({ definition }) => definition.name))
  if (filter.definition !== '') names.add(filter.definition)
  return (
    <label class="definition-filter">
      <span class="sr-only">Definition</span>
      <select
        value={filter.definition}
        onChange={event => router.replace(sessionsHash({ ...filter, definition: event.currentTarget.value }))}
      >
        <option value="">Any definition</option>
        {[...names].toSorted().map(name => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function TextField({ filter }: { filter: SessionFilter }) {
  const { router } = useConsole()
  return (
    <label class="search">
      <NamedIcon name="search" />
      <span class="sr-only">Search sessions</span>
      <input
        type="search"
        placeholder="Id, owner, worker…"
        value={filter.text}
        onInput={event => router.replace(sessionsHash({ ...filter, text: event.currentTarget.value }))}
      />
    </label>
  )
}
