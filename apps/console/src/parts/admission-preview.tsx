import type { BodyInput } from '@lcm/contract/routes'
import type { Instant } from '@lcm/domain/instant'
import { countText } from '@lcm/domain/text/format-amounts'
import { dayAndMinuteText, utcText } from '../state/time-format.ts'
import { NamedIcon } from './icons.tsx'
import { Timestamp } from './timestamp.tsx'
import { useRead } from './use-read.ts'

interface AdmissionPreviewProps {
  readonly definitionId: string
  /** What would be booked. */
  readonly booking: BodyInput<'previewAdmission'>
  /** Whether it is booked without a promise. */
  readonly isBestEffort: boolean
  onStart(start: Instant): void
  onBestEffort(isBestEffort: boolean): void
}

const EVERY_MS = 10_000

/** Whether the calendar would promise this booking its capacity, with the times that work if it would not. */
export function AdmissionPreview({ definitionId, booking, ...choice }: AdmissionPreviewProps) {
  const preview = useRead(
    `admission ${definitionId} ${JSON.stringify(booking)}`,
    (client, signal) => client.call('previewAdmission', { params: { id: definitionId }, body: booking, signal }),
    { everyMs: EVERY_MS },
  )
  const { value } = preview
  return (
    <section class="preview admission" aria-label="Capacity" aria-live="polite">
      {value === null ? (
        <p class="muted">{preview.error ?? 'Asking the calendar…'}</p>
      ) : value.outcome === 'admitted' ? (
        <Verdict tone="green" title="Capacity is promised" text={`${countText(value.seats, 'seat')} at that time`} />
      ) : (
        <Refusal {...value} {...choice} />
      )}
    </section>
  )
}

function Verdict({ tone, title, text }: { tone: 'green' | 'orange'; title: string; text: string }) {
  return (
    <p class={`preview-verdict tone-${tone}`}>
      <NamedIcon name={tone === 'green' ? 'check' : 'arrow'} />
      <span>
        <strong>{title}</strong>: {text}.
      </span>
    </p>
  )
}

interface RefusalProps extends Omit<AdmissionPreviewProps, 'definitionId' | 'booking'> {
  readonly because: { readonly message: string } | null
  readonly alternatives: readonly Instant[]
}

function Refusal({ because, alternatives, isBestEffort, onStart, onBestEffort }: RefusalProps) {
  return (
    <>
      <Verdict
        tone="orange"
        title={isBestEffort ? 'Best effort' : 'Not available then'}
        text={isBestEffort ? 'it gets the capacity that promised sessions leave' : (because?.message ?? '')}
      />
      {alternatives.length > 0 && (
        <p class="preview-starts">
          {alternatives.map(start => (
            <button
              key={start}
              type="button"
              class="chip"
              title={utcText(Date.parse(start))}
              onClick={() => onStart(start)}
            >
              Start at <Timestamp at={start} text={dayAndMinuteText} />
            </button>
          ))}
        </p>
      )}
      <label class="preview-choice">
        <input type="checkbox" checked={isBestEffort} onChange={event => onBestEffort(event.currentTarget.checked)} />
        Book anyway, without a promise
      </label>
    </>
  )
}
