import type { PlannedAction } from '@lcm/domain/fleet/service-instance'

/** The next action for each observed resource, for the heartbeat and `/admin/plan`. */
export interface PlanBoard {
  /** Null: the resource was observed and has nothing to do. */
  set(resource: string, planned: Omit<PlannedAction, 'resource'> | null): void
  forget(resource: string): void
  clear(): void
  plan(): readonly PlannedAction[]
  /** Observed resources of this kind, with and without a plan. */
  count(kind: string): number
}

export function planBoard(): PlanBoard {
  const entries = new Map<string, PlannedAction | null>()
  return {
    set: (resource, planned) => void entries.set(resource, planned && { ...planned, resource }),
    forget: resource => void entries.delete(resource),
    clear: () => entries.clear(),
    plan: () => [...entries.values()].filter(planned => planned !== null),
    count: kind => [...entries.keys()].filter(resource => resource.startsWith(`${kind}:`)).length,
  }
}
