import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { exactText, timestampText } from '../state/time-format.ts'

interface TimestampProps {
  readonly at: Instant | number
  readonly class?: string
  /** How much of it is written; all of it unless said. */
  readonly text?: (ms: number) => string
}

/** When something was or will be; with its zone, and in UTC, when pointed at. */
export function Timestamp({ at, class: name = '', text = timestampText }: TimestampProps) {
  const ms = typeof at === 'number' ? at : toMs(at)
  return (
    <time class={`number ${name}`} dateTime={toInstant(ms)} title={exactText(ms)}>
      {text(ms)}
    </time>
  )
}
