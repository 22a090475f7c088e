import type { Signal } from '@preact/signals'
import { SEATS_MAX } from './booking-draft.ts'

/** How many sessions are booked together; null while the input is not a number. */
export function SeatsField({ seats }: { readonly seats: Signal<number | null> }) {
  const isGood = seats.value !== null && seats.value >= 1 && seats.value <= SEATS_MAX
  return (
    <label class="field seats">
      <span>Seats</span>
      <input
        type="number"
        inputMode="numeric"
        min={1}
        max={SEATS_MAX}
        step={1}
        required
        aria-invalid={!isGood}
        value={seats.value ?? ''}
        onInput={event => {
          const typed = event.currentTarget.valueAsNumber
          seats.value = Number.isInteger(typed) ? typed : null
        }}
      />
    </label>
  )
}
