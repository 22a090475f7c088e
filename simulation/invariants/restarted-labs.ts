import { isUp, nodeStateAt } from '@lcm/cloud-sim/cml-node-life'
import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { MINUTE_MS } from '../passing.ts'
import type { SessionInvariantParts } from './session-invariants.ts'

/** A new leader, a few looks, and CML calls that fail for a while. */
const STOPPED_MS_MAX = 15 * MINUTE_MS

/**
 * A session within its slot has a lab that runs once its machine was started again and serves. Answers those whose lab is still
 * stopped after a while, although nothing has tried to start it since.
 */
export function restartedLabs({ cloud, following, clock }: SessionInvariantParts): () => string[] {
  const since = new Map<string, number>()

  function isStopped({ id, status, pipeline, worker_id }: LabletSession): boolean {
    const worker = following.workers.get(worker_id ?? '')
    if ((status !== 'READY' && status !== 'RUNNING') || worker === undefined || !isServing(worker)) return false
    const labStartedAt = pipeline?.name === 'instantiate' ? pipeline.steps.lab_start?.started_at : null
    const restartedAt = worker.state_history.findLast(({ to }) => to === 'STARTING')?.at
    if (labStartedAt == null || restartedAt === undefined || toMs(labStartedAt) >= toMs(restartedAt)) return false
    const machine = worker.ec2_instance_id ?? ''
    if (cloud.machine(machine)?.state !== 'running') return false
    const labs = (cloud.cml.sceneOf(machine)?.labs ?? []).filter(({ title }) => title.endsWith(` ${id}`))
    return labs.length > 0 && !labs.some(lab => lab.nodes.some(node => isUp(nodeStateAt(node, clock.now()))))
  }

  return () => {
    const stopped = [...following.sessions.values()].filter(isStopped).map(({ id }) => id)
    for (const id of since.keys()) if (!stopped.includes(id)) since.delete(id)
    for (const id of stopped) if (!since.has(id)) since.set(id, clock.now())
    return stopped
      .filter(id => clock.now() - (since.get(id) ?? 0) > STOPPED_MS_MAX)
      .map(id => `the lab of ${id} stays stopped, though its machine was started again`)
  }
}

const isServing = ({ status, service_status }: Worker): boolean =>
  status === 'RUNNING' && service_status === 'AVAILABLE'
