import { type Reason, reason } from '../reason.ts'
import { limitsOf } from '../session/free-capacity.ts'
import type { Worker } from '../worker/worker.ts'
import type { Reservation } from '../worker/worker-field-schemas.ts'
import type { Amounts } from './machine-calendar.ts'
import { rounded } from './worker-ledger.ts'

const RESOURCES = ['cpu_cores', 'memory_gb', 'storage_gb', 'nodes'] as const satisfies readonly (keyof Amounts)[]

/**
 * Why the lab of a session must not start now; null if it may. Its worker may be promised to sessions one after another, and a lab
 * starts only when those before it are known to be gone.
 */
export function labStartBlock(worker: Worker, sessionId: string): Reason | null {
  const own = worker.reservations[sessionId]
  if (own === undefined) return reason('capacity_not_reserved', { worker: worker.name })
  if (own.started_at !== null || worker.capacity.declared === null) return null
  const others = Object.entries(worker.reservations).filter(
    ([id, { started_at }]) => id !== sessionId && started_at !== null,
  )
  const limits = limitsOf(worker)
  const isShort = RESOURCES.some(resource => {
    const used = others.reduce((sum, [, each]) => sum + each[resource], 0)
    return used > 0 && rounded(used + own[resource]) > limits[resource]
  })
  return isShort
    ? reason('waiting_for_predecessors', { worker: worker.name, sessions: predecessorsOf(own, others) })
    : null
}

/** Labs that should be gone by now, else labs that are held until a scan, else all that run. */
function predecessorsOf(own: Reservation, others: readonly (readonly [string, Reservation])[]): string[] {
  const late = others.filter(([, { until }]) => until !== null && until <= own.from)
  const stuck = others.filter(([, { until }]) => until === null)
  const named = late.length > 0 ? late : stuck.length > 0 ? stuck : others
  return named.map(([id]) => id).sort()
}
