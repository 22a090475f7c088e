import { durationText } from '@lcm/domain/text/format-amounts'
import type { Tone } from '@lcm/domain/text/status-tone'
import type { Connection } from '../../state/live-state.ts'
import { timeText } from '../../state/time-format.ts'
import { useConsole } from '../console-context.ts'
import { type IconName, NamedIcon } from '../icons.tsx'

interface BadgeStyle {
  readonly label: string
  readonly tone: Tone
  readonly icon: IconName
}

const STYLES: Readonly<Record<Connection['state'], BadgeStyle>> = {
  connecting: { label: 'Connecting…', tone: 'gray', icon: 'waiting' },
  live: { label: 'Live', tone: 'green', icon: 'live' },
  reconnecting: { label: 'Reconnecting…', tone: 'orange', icon: 'waiting' },
  polling: { label: 'Polling', tone: 'orange', icon: 'polling' },
  offline: { label: 'Offline', tone: 'red', icon: 'offline' },
  'signed-out': { label: 'Signed out', tone: 'violet', icon: 'key' },
}

export function ConnectionBadge() {
  const { state } = useConsole()
  const connection = state.connection.value
  const { label, tone, icon } = STYLES[connection.state]
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

/** Shown while the connection is broken: age of the data and time of the next attempt. */
export function ConnectionBanner() {
  const { state, stream } = useConsole()
  const connection = state.connection.value
  if (!('because' in connection) || state.info.value === null) return null
  return (
    <div class={`banner tone-${STYLES[connection.state].tone}`}>
      <p>
        {connection.state === 'polling' ? (
          <>Live updates are unavailable ({connection.because}). Lists are reloaded with each retry. </>
        ) : (
          <>Connection lost: {connection.because}. </>
        )}
        <LastMessage /> <RetryCountdown retryAtMs={connection.retryAtMs} />
      </p>
      <button type="button" class="button small" onClick={stream.retryNow}>
        Retry now
      </button>
    </div>
  )
}

function LastMessage() {
  const { state } = useConsole()
  const lastMessageAtMs = state.lastMessageAtMs.value
  return lastMessageAtMs === null ? null : <>Data is from {timeText(lastMessageAtMs)}.</>
}

/** Hidden from screen readers, which would announce the countdown every second. */
export function RetryCountdown({ retryAtMs }: { retryAtMs: number }) {
  const { nowMs } = useConsole()
  const leftMs = retryAtMs - nowMs.value
  return (
    <span class="number" aria-hidden="true">
      {leftMs > 0 ? `Next retry in ${durationText(Math.max(1_000, leftMs))}.` : 'Retrying…'}
    </span>
  )
}
