import { type Instant, readInstant, toInstant, toMs } from '../../instant.ts'
import { type Reason, reason } from '../../reason.ts'
import type { BootCondition } from '../boot-stages.ts'
import type { Seen } from '../observation.ts'
import type { Worker } from '../worker.ts'
import { announce, type Decision } from './decision.ts'

const CML_READY: BootCondition = 'CmlReady'

/**
 * Records in a write that CML no longer serves how long the machine was up, and in a write that it serves again that it was
 * restarted. LCM can't tell a restart from a CML that was silent, so both count: labs that still run show what it was.
 */
export function withRestart(worker: Worker, decision: Decision, nowMs: number): Decision {
  const { action } = decision
  if (action.kind !== 'write') return decision
  const [serves, willServe] = [worker, { ...worker, ...action.changes }].map(
    ({ service_status }) => service_status === 'AVAILABLE',
  )
  if (serves === willServe) return decision
  const now = toInstant(nowMs)
  const upUntil = serves ? now : (worker.cml.up_until ?? readyUntil(worker))
  if (upUntil === null) return decision
  const cml = { ...action.changes.cml, up_until: upUntil, ...(willServe ? { restarted_at: now } : {}) }
  return { ...decision, action: { ...action, changes: { ...action.changes, cml } } }
}

/** For a record from before `up_until` was stored; null while it boots for the first time. */
function readyUntil({ state_history, conditions }: Worker): Instant | null {
  const hasServed = state_history.some(({ from }) => from === 'RUNNING' || from === 'DRAINING')
  const ready = conditions.find(({ type, status }) => type === CML_READY && !status)
  return hasServed ? (ready?.since ?? null) : null
}

/** A restart of a machine whose CML was ready again before a probe missed it. Null when there was none. */
export function decideRestarted({ worker, instance, lostLabs, nowMs }: Seen): Decision | null {
  const { restarted_at } = worker.cml
  // The clock of EC2 may be ahead: a restart before the time until which the machine was up would be found again at once.
  const recorded = (upUntil: Instant, because: Reason) =>
    announce({ cml: { restarted_at: toInstant(Math.max(nowMs, toMs(upUntil))), up_until: upUntil } }, because)
  const readySince = worker.conditions.find(({ type, status }) => type === CML_READY && status)?.since ?? null
  const knownMs = Math.max(...[readySince, restarted_at].map(at => (at === null ? 0 : toMs(at))))
  if (readySince !== null && toMs(instance.launched_at) > knownMs)
    return recorded(instance.launched_at, reason('machine_started_again', { launched_at: instance.launched_at }))
  if (lostLabs === null || (restarted_at !== null && restarted_at >= lostLabs.upUntil)) return null
  return recorded(lostLabs.upUntil, lostLabs.because)
}

interface NodeEvent {
  readonly category: string
  readonly at: string
  readonly lab_id: string | null
  readonly node_id: string | null
}

interface LabsUp {
  readonly labs: number
  readonly nodes: number
  /** When the last of their nodes started or booted. */
  readonly startedAt: Instant | null
}

/**
 * The labs that telemetry shows as up: a node of theirs started after `since` and was not stopped. A restart stops nodes without an
 * event.
 */
export function labsUp(events: readonly NodeEvent[], since: Instant | null): LabsUp {
  const up = new Map<string, Map<string, Instant>>()
  for (const { category, at, lab_id, node_id } of events) {
    const moment = readInstant(at)
    if (lab_id === null || moment === null || (since !== null && moment <= since)) continue
    const nodes = up.get(lab_id) ?? new Map<string, Instant>()
    up.set(lab_id, nodes)
    if (category === 'stop_lab') nodes.clear()
    else if (category === 'start_node' || category === 'boot_node') nodes.set(node_id ?? '', moment)
    else if (category === 'stop_node' || category === 'wipe_node') nodes.delete(node_id ?? '')
  }
  const moments = [...up.values()].flatMap(nodes => [...nodes.values()])
  return {
    labs: [...up.values()].filter(nodes => nodes.size > 0).length,
    nodes: moments.length,
    startedAt: moments.reduce<Instant | null>((a, b) => (a === null || b > a ? b : a), null),
  }
}
