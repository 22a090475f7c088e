import type { Health } from '@lcm/domain/health'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { type Status, toneOf } from '@lcm/domain/text/status-tone'
import type { Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import { isCanceled } from '../../pages/session/session-text.ts'
import { readsAsLearner } from '../../state/permission.ts'
import { differingDesired } from '../../state/worker-status.ts'
import { useConsole } from '../console-context.ts'
import { NamedIcon, StatusIcon } from '../icons.tsx'

export const StatusBadge = ({ status }: { status: Status }) => (
  <span class={`badge tone-${toneOf(status)}`}>
    <StatusIcon status={status} />
    {status}
  </span>
)

/** What the icon and the color of a resource show: its health, unless that is OK. */
export const shownStatus = (status: Status, health: Health): Status => (health.status === 'OK' ? status : health.status)

export function WorkerBadge({ worker }: { worker: Worker }) {
  const health = workerHealth(worker)
  return (
    <ResourceBadge
      status={worker.status}
      health={health}
      desired={differingDesired(worker)}
      title={health.reason?.message}
    />
  )
}

/** Learners read the reason in their own words, beside it. */
export function SessionBadge({ session }: { session: LabletSession }) {
  const forLearner = readsAsLearner(useConsole().state.info.value)
  const desired = isCanceled(session) ? session.desired_status : null
  return (
    <ResourceBadge {...session} desired={desired} title={forLearner ? undefined : session.health.reason?.message} />
  )
}

interface ResourceBadgeProps {
  readonly status: Status
  readonly health: Health
  /** Null when it equals the status. */
  readonly desired: string | null
  readonly title: string | undefined
}

/** Status, health and desired status in one badge: a session may be RUNNING while its lab is down. */
function ResourceBadge({ status, health, desired, title }: ResourceBadgeProps) {
  const shown = shownStatus(status, health)
  return (
    <span class="status">
      <span class={`badge tone-${toneOf(shown)}`} title={title}>
        <StatusIcon status={shown} />
        {status}
        {shown !== status && <strong class="badge-health">{shown}</strong>}
      </span>
      {desired !== null && (
        <span class="desired">
          <NamedIcon name="arrow" />
          <span class="sr-only">desired: </span>
          {desired}
        </span>
      )}
    </span>
  )
}
