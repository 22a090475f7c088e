import { effect, type Signal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface MinutesProps {
  /** Null while the input is not a number. */
  readonly minutes: Signal<number | null>
  readonly max: number
  readonly label: string
}

const PRESETS = [15, 30, 60, 120, 240]

/** Presets always include the maximum. */
export function MinutesField({ minutes, max, label }: MinutesProps) {
  const note = useId()
  const field = useId()
  const presets = [...PRESETS.filter(each => each < max), max]
  const input = useRef<HTMLInputElement>(null)
  // Not in the next frame: by then the user may have selected the number to type over it, and a new value drops the selection.
  useLayoutEffect(() => {
    const shown = input.current
    return effect(() => {
      const { value } = minutes
      if (shown !== null && value !== null && shown.valueAsNumber !== value) shown.value = String(value)
    })
  }, [minutes])
  const isGood = minutes.value !== null && minutes.value >= 1 && minutes.value <= max
  return (
    <div class="field">
      <label for={field}>{label}</label>
      <span class="minutes">
        <input
          ref={input}
          id={field}
          type="number"
          inputMode="numeric"
          min={1}
          max={max}
          step={1}
          required
          aria-describedby={note}
          aria-invalid={!isGood}
          value={minutes.value ?? ''}
          onInput={event => {
            const typed = event.currentTarget.valueAsNumber
            minutes.value = Number.isInteger(typed) ? typed : null
          }}
        />
        {presets.map(preset => (
          <button
            key={preset}
            type="button"
            class="chip"
            aria-pressed={minutes.value === preset}
            onClick={() => {
              minutes.value = preset
            }}
          >
            {preset === max ? `${preset} max` : preset}
            <span class="sr-only"> minutes</span>
          </button>
        ))}
      </span>
      <span id={note} class="muted">
        Maximum {max} min
      </span>
    </div>
  )
}
