import { z } from 'zod'
import { Fence } from '../fencing.ts'
import { Instant } from '../instant.ts'
import { Reason } from '../reason.ts'

export const FLEET_SCALING_ID = 'fleet'

/**
 * What spans workers. Every automatic stop or purchase is decided by compare-and-set on this one document, so two of them can
 * never both be granted where only one is allowed.
 */
export const FleetScaling = z.object({
  id: z.literal(FLEET_SCALING_ID),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  last_scale_down_at: Instant.nullable(),
  /** By worker id: workers that may be stopped although their own documents do not say so yet. */
  stop_permits: z.record(z.string(), z.object({ at: Instant, reason: Reason })),
  /** By `<template>/<region>`: the workers that were bought last, and for what. */
  flights: z.record(
    z.string(),
    z.object({ key: z.string(), count: z.int(), worker_ids: z.array(z.string()), at: Instant }),
  ),
  /** By instance id: machines that no record stood for, and when it was allowed to terminate them. */
  orphan_terminations: z.record(z.string(), Instant).default({}),
  /** Nothing automatic is done until every worker has been looked at since then; null in ordinary times. */
  held_since: Instant.nullable(),
  fence: Fence.default({}),
})
export type FleetScaling = z.infer<typeof FleetScaling>

export const newFleetScaling = (now: Instant): FleetScaling => ({
  id: FLEET_SCALING_ID,
  version: 1,
  created_at: now,
  updated_at: now,
  last_scale_down_at: null,
  stop_permits: {},
  flights: {},
  orphan_terminations: {},
  held_since: null,
  fence: {},
})
