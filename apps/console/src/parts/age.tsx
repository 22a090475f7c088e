import { type Instant, toMs } from '@lcm/domain/instant'
import { durationText } from '@lcm/domain/text/format-amounts'
import { exactText } from '../state/time-format.ts'
import { useConsole } from './console-context.ts'

/** Time since `since`, updated every second. The tooltip shows the exact time. */
export function Age({ since }: { since: Instant }) {
  const { nowMs } = useConsole()
  return (
    <time class="number" dateTime={since} title={exactText(toMs(since))}>
      {durationText(nowMs.value - toMs(since))}
    </time>
  )
}
