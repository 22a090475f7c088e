import { type Status, toneOf } from '@lcm/domain/text/status-tone'
import type { DesiredStatus, Worker } from '@lcm/domain/worker/worker'
import { desiredStatusOf, differsFromDesired } from '../state/worker-status.ts'
import { NamedIcon, StatusIcon } from './icons.tsx'

export const StatusBadge = ({ status }: { status: Status }) => (
  <span class={`badge tone-${toneOf(status)}`}>
    <StatusIcon status={status} />
    {status}
  </span>
)

/** Status of the worker, and its desired status if that differs. */
export const WorkerStatusBadge = ({ worker }: { worker: Worker }) => (
  <span class="status">
    <StatusBadge status={worker.status} />
    {differsFromDesired(worker) && <Desired status={desiredStatusOf(worker)} />}
  </span>
)

const Desired = ({ status }: { status: DesiredStatus }) => (
  <span class="desired">
    <NamedIcon name="arrow" />
    <span class="sr-only">desired: </span>
    {status}
  </span>
)
