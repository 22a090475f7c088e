import { type Election, silentLogger } from '@lcm/runtime'
import { anObservation } from '@lcm/testkit/observation-builders'
import type { WorkerReconcile } from '../report.ts'
import { never } from './simulated-cloud-and-api.ts'

/** One reconcile of a leader in its third term. */
export const aReconcile = (more: Partial<WorkerReconcile> = {}): WorkerReconcile => ({
  signal: never,
  epoch: 3,
  leadership: { epoch: 3, signal: never, isHeld: () => true },
  cause: 'poll',
  logger: silentLogger,
  listed: undefined,
  withoutSlot: work => work(),
  seen: anObservation(),
  durationMs: () => 12,
  ...more,
})

/** An election that only counts resignations. */
export function resignations(): { readonly election: Election; count(): number } {
  let count = 0
  const status = { state: 'LEADER', leader_id: 'one', term: 3, since: null } as const
  const election: Election = {
    instanceId: 'one',
    campaign: async () => null,
    resign: async () => {
      count += 1
    },
    status: () => status,
  }
  return { election, count: () => count }
}
