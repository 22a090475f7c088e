import type { PlannedAction } from '@lcm/domain/fleet/service-instance'

/** Limit of the API; an error of the cloud may be longer. */
export const BECAUSE_CHARS_MAX = 1000

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
    set(resource, planned) {
      const because = planned?.because.slice(0, BECAUSE_CHARS_MAX) ?? ''
      entries.set(resource, planned && { ...planned, resource, because })
    },
    forget: resource => void entries.delete(resource),
    clear: () => entries.clear(),
    plan: () => [...entries.values()].filter(planned => planned !== null),
    count: kind => [...entries.keys()].filter(resource => resource.startsWith(`${kind}:`)).length,
  }
}
