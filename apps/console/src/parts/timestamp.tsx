import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { exactText, timestampText } from '../state/time-format.ts'

interface TimestampProps {
  readonly at: Instant | number
  readonly class?: string
  /** Format of the time. Default: date and time. */
  readonly text?: (ms: number) => string
}

/** A point in time. The tooltip shows it with its zone and in UTC. */
export function Timestamp({ at, class: name = '', text = timestampText }: TimestampProps) {
  const ms = typeof at === 'number' ? at : toMs(at)
  return (
    <time class={`number ${name}`} dateTime={toInstant(ms)} title={exactText(ms)}>
      {text(ms)}
    </time>
  )
}
