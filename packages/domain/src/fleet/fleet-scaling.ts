import { z } from 'zod'
import { Fence } from '../fencing.ts'
import { Instant } from '../instant.ts'
import { Reason } from '../reason.ts'

export const FLEET_SCALING_ID = 'fleet'

/**
 * The state that spans workers. Every automatic stop or purchase is decided by compare-and-set on this one document, so two of
 * them can never both be granted where only one is allowed.
 */
export const FleetScaling = z.object({
  id: z.literal(FLEET_SCALING_ID),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  last_scale_down_at: Instant.nullable(),
  /** The last automatic stops, for as long as they count. */
  recent_stops: z.array(z.object({ worker_id: z.string(), at: Instant })).default([]),
  /** By worker id: workers that may be stopped, before their own documents say so. */
  stop_permits: z.record(z.string(), z.object({ at: Instant, reason: Reason })),
  /** By `<template>/<region>/<group>`: the last purchase and its workers, as long as another one must wait for it. */
  purchases: z.record(
    z.string(),
    z.object({ key: z.string(), count: z.int(), worker_ids: z.array(z.string()), at: Instant }),
  ),
  /** By worker id: what automatic purchases and wake-ups promised to spend, so that no two spend the same of a budget. */
  commitments: z
    .record(
      z.string(),
      z.object({ at: Instant, until: Instant, usd_per_hour: z.number(), disk_usd_per_hour: z.number() }),
    )
    .default({}),
  /** By instance id: machines without a worker, and when their termination was allowed. */
  orphan_terminations: z.record(z.string(), Instant).default({}),
  /** Automatic stops and purchases wait until every worker has been observed since then; null if they don't wait. */
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
  recent_stops: [],
  stop_permits: {},
  purchases: {},
  commitments: {},
  orphan_terminations: {},
  held_since: null,
  fence: {},
})
