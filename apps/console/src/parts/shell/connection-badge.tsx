import { durationText } from '@lcm/domain/text/amounts'
import type { Tone } from '@lcm/domain/text/status-tone'
import type { Connection } from '../../state/live-state.ts'
import { timeText } from '../../state/time-format.ts'
import { useConsole } from '../console-context.ts'
import { type IconName, NamedIcon } from '../icons.tsx'

interface Look {
  readonly label: string
  readonly tone: Tone
  readonly icon: IconName
}

const LOOKS: Readonly<Record<Connection['state'], Look>> = {
  connecting: { label: 'Connecting…', tone: 'grey', icon: 'waiting' },
  live: { label: 'Live', tone: 'green', icon: 'live' },
  reconnecting: { label: 'Reconnecting…', tone: 'orange', icon: 'waiting' },
  polling: { label: 'Polling', tone: 'orange', icon: 'polling' },
  offline: { label: 'Offline', tone: 'red', icon: 'offline' },
  'signed-out': { label: 'Signed out', tone: 'violet', icon: 'key' },
}

export function ConnectionBadge() {
  const { state } = useConsole()
  const connection = state.connection.value
  const { label, tone, icon } = LOOKS[connection.state]
  return (
    <output
      class={`badge connection ${connection.state} tone-${tone}`}
      title={'because' in connection ? connection.because : undefined}
    >
      <NamedIcon name={icon} />
      {label}
    </output>
  )
}

/** Under a broken connection the page says how old it is and what happens next. */
export function ConnectionBanner() {
  const { state, stream } = useConsole()
  const connection = state.connection.value
  if (!('because' in connection) || state.info.value === null) return null
  return (
    <div class={`banner tone-${LOOKS[connection.state].tone}`}>
      <p>
        {connection.state === 'polling' ? (
          <>No live events ({connection.because}). Lists are read again with every try. </>
        ) : (
          <>No connection: {connection.because}. </>
        )}
        <HeardAt /> <RetryCountdown retryAtMs={connection.retryAtMs} />
      </p>
      <button type="button" class="button small" onClick={stream.retryNow}>
        Retry now
      </button>
    </div>
  )
}

function HeardAt() {
  const { state } = useConsole()
  const heardAtMs = state.lastMessageAtMs.value
  return heardAtMs === null ? null : <>What you see is from {timeText(heardAtMs)}.</>
}

/** Hidden from screen readers: a countdown read aloud every second helps nobody. */
export function RetryCountdown({ retryAtMs }: { retryAtMs: number }) {
  const { nowMs } = useConsole()
  const leftMs = retryAtMs - nowMs.value
  return (
    <span class="number" aria-hidden="true">
      {leftMs > 0 ? `Next try in ${durationText(Math.max(1_000, leftMs))}.` : 'Trying…'}
    </span>
  )
}
