import { HEALTH_STATUSES, type HealthStatus } from '@lcm/domain/health'
import { type Status, toneOf } from '@lcm/domain/text/status-tone'
import { NamedIcon, StatusIcon } from '../icons.tsx'

interface StatusChipsProps<S extends Status> {
  /** Statuses to offer, in display order. */
  readonly statuses: readonly S[]
  readonly countOf: (status: S) => number
  /** Number of items without a status filter. */
  readonly allCount: number
  readonly chosen: readonly S[]
  /** Called with the statuses that follow from those chosen when the filter changes. */
  readonly onChoose: (next: (chosen: readonly S[]) => readonly S[]) => void
}

/** Filters a list by status. No selection means no filter. */
export const StatusChips = <S extends Status>(props: StatusChipsProps<S>) => {
  const { statuses, countOf, allCount, chosen, onChoose } = props
  const toggled = (status: S) => (now: readonly S[]) =>
    now.includes(status) ? now.filter(each => each !== status) : [...now, status]
  return (
    <fieldset class="chips">
      <legend class="sr-only">Filter by status</legend>
      <button type="button" class="chip" aria-pressed={chosen.length === 0} onClick={() => onChoose(() => [])}>
        All <span class="number">{allCount}</span>
      </button>
      {statuses.map(status => (
        <button
          key={status}
          type="button"
          class={`chip tone-${toneOf(status)}`}
          aria-pressed={chosen.includes(status)}
          onClick={() => onChoose(toggled(status))}
        >
          <StatusIcon status={status} />
          {status} <span class="number">{countOf(status)}</span>
        </button>
      ))}
    </fieldset>
  )
}

/** The health that an address names; null for any. */
export const healthIn = (text: string | undefined): HealthStatus | null =>
  HEALTH_STATUSES.find(status => status === text) ?? null

interface HealthPickProps {
  readonly chosen: HealthStatus | null
  readonly onPick: (health: HealthStatus | null) => void
}

export const HealthPick = ({ chosen, onPick }: HealthPickProps) => (
  <Pick
    label="Health"
    any="Any health"
    options={HEALTH_STATUSES.map(optionOf)}
    chosen={chosen ?? ''}
    onPick={text => onPick(healthIn(text))}
  />
)

interface SearchFieldProps {
  readonly label: string
  readonly placeholder: string
  readonly text: string
  readonly onText: (text: string) => void
}

export const SearchField = ({ label, placeholder, text, onText }: SearchFieldProps) => (
  <label class="search">
    <NamedIcon name="search" />
    <span class="sr-only">{label}</span>
    <input type="search" placeholder={placeholder} value={text} onInput={event => onText(event.currentTarget.value)} />
  </label>
)

interface PickProps {
  readonly label: string
  /** Label of the empty choice. */
  readonly any: string
  readonly options: readonly { readonly value: string; readonly name: string }[]
  readonly chosen: string
  readonly onPick: (value: string) => void
}

/** An option whose value is its label. */
export const optionOf = (name: string) => ({ value: name, name })

export const Pick = ({ label, any, options, chosen, onPick }: PickProps) => (
  <select class="narrow" aria-label={label} value={chosen} onChange={event => onPick(event.currentTarget.value)}>
    <option value="">{any}</option>
    {options.map(({ value, name }) => (
      <option key={value} value={value}>
        {name}
      </option>
    ))}
  </select>
)
