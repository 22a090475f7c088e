import { isUp, nodeStateAt } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { toMs } from '@lcm/domain/instant'
import { STOPPED_CODES } from '@lcm/domain/session/lab-stop-cause'
import { LAB_STOPPED, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { CLOCK_MS_MAX } from '../../world/controller-process.ts'
import { MINUTE_MS } from '../../world/durations.ts'
import type { EventFollower } from '../../world/event-follower.ts'

/** Time for a new leader, a few polls and failing CML calls. */
const STOPPED_MS_MAX = 15 * MINUTE_MS

export interface RestartedLabParts {
  readonly cloud: SimModel
  readonly following: Pick<EventFollower, 'workers' | 'sessions'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * The lab of a session in its time slot runs again after a restart of its machine. Returns the sessions whose lab stays stopped
 * without an attempt to start it.
 */
export function restartedLabs({ cloud, following, clock }: RestartedLabParts): () => string[] {
  const since = new Map<string, number>()

  function isStopped({ id, status, pipeline, worker_id }: LabletSession): boolean {
    const worker = following.workers.get(worker_id ?? '')
    if ((status !== 'READY' && status !== 'RUNNING') || worker === undefined || !isServing(worker)) return false
    const labStartedAt = pipeline?.name === 'instantiate' ? pipeline.steps.lab_start?.started_at : null
    const restartedAt = worker.state_history.findLast(({ to }) => to === 'STARTING')?.at
    if (labStartedAt == null || restartedAt === undefined || toMs(labStartedAt) >= toMs(restartedAt)) return false
    const machine = worker.ec2_instance_id ?? ''
    if (cloud.machine(machine)?.state !== 'running') return false
    const labs = (cloud.cml.contextOf(machine)?.labs ?? []).filter(({ title }) => title.endsWith(` ${id}`))
    return labs.length > 0 && !labs.some(lab => lab.nodes.some(node => isUp(nodeStateAt(node, clock.now()))))
  }

  return () => {
    const stopped = [...following.sessions.values()].filter(isStopped).map(({ id }) => id)
    for (const id of since.keys()) if (!stopped.includes(id)) since.delete(id)
    for (const id of stopped) if (!since.has(id)) since.set(id, clock.now())
    return stopped
      .filter(id => clock.now() - (since.get(id) ?? 0) > STOPPED_MS_MAX)
      .map(id => `the lab of ${id} stays stopped although its machine was restarted`)
  }
}

/**
 * A lab that stopped with its machine is not reported as stopped by a user: no act stops a lab. A controller that reports so leaves
 * the lab stopped.
 */
export function blamedOnPerson(
  { id, worker_id, conditions }: LabletSession,
  workers: EventFollower['workers'],
): string[] {
  const stopped = conditions.find(({ type, status }) => type === LAB_STOPPED && status)
  const history = workers.get(worker_id ?? '')?.state_history ?? []
  const ranAt = history.findIndex(({ to }) => to === 'RUNNING')
  const restart = history.slice(ranAt + 1).findLast(({ to }) => to === 'STARTING')
  if (stopped === undefined || restart === undefined || OWN_REASONS.includes(stopped.reason.code)) return []
  const isSeenBefore = toMs(stopped.since) <= toMs(restart.at) + CLOCK_MS_MAX
  return isSeenBefore ? [] : [`the lab of ${id} is reported as stopped by a user, but its machine was restarted`]
}

const OWN_REASONS: readonly string[] = Object.values(STOPPED_CODES)

const isServing = ({ status, service_status }: Worker): boolean =>
  status === 'RUNNING' && service_status === 'AVAILABLE'
