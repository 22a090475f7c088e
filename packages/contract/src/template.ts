import { ServiceTerm } from '@lcm/domain/fencing'
import { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { InstanceReport, PlannedAction, ServiceInstance } from '@lcm/domain/fleet/service-instance'
import { SETTING_SOURCES, SettingValues } from '@lcm/domain/fleet/settings'
import { Instant } from '@lcm/domain/instant'
import { UserData, WorkerTemplate, WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { COST_CAUSES } from '@lcm/domain/worker/parts'
import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import { z } from 'zod'
import { listOf } from './lists.ts'
import { InstanceId, WorkerView } from './worker-bodies.ts'

export const TemplateList = listOf(WorkerTemplate)

const user_data = UserData.nullable().optional()
export const CreateTemplate = WorkerTemplateSpec.extend({
  /** At most 16 KB, write-only. */
  user_data,
})
/** The whole template anew. User data that is not named stays; null takes it away. */
export const PutTemplate = CreateTemplate.omit({ name: true })
export const UserDataQuery = z.strictObject({
  /** Of a launch that is repeated; the newest unless given. The one before the newest is kept for that. */
  ref: z.string().max(64).optional(),
})
export const TemplateUserData = z.object({ user_data: UserData.nullable() })

const amounts = z.object({ cpu_cores: z.number(), memory_gb: z.number(), storage_gb: z.number(), nodes: z.number() })
const byStatus = z.object(Object.fromEntries(WORKER_STATUSES.map(status => [status, z.int()])))
const byCause = z.object(Object.fromEntries(COST_CAUSES.map(cause => [cause, z.number()])))

export const SummaryQuery = z.strictObject({
  /** Money is summed from then on; the last seven days unless said. */
  since: Instant.optional(),
})
export const FleetSummary = z.object({
  at: Instant,
  workers: z.object({ total: z.int(), by_status: byStatus, idle: z.int(), needs_attention: z.int() }),
  capacity: z.object({ declared: amounts, reserved: amounts }),
  cost: z.object({
    per_hour_usd: z.number(),
    since: Instant,
    spent_usd: z.number(),
    saved_usd: z.number(),
    by_cause: byCause,
    /** Days of UTC, oldest first; the first is counted from `since` on. */
    by_day: z.array(z.object({ day: z.iso.date(), spent_usd: z.number(), saved_usd: z.number() })),
  }),
})

const Spent = z.object({ spent_usd: z.number(), saved_usd: z.number(), by_cause: byCause })
export const FleetCost = Spent.extend({
  at: Instant,
  since: Instant,
  /** Who cost most comes first; those without any cost are left out. Workers whose record is gone have no name. */
  items: z.array(Spent.extend({ worker_id: z.string(), name: z.string().nullable() })),
})

export const FleetPlan = z.object({ at: Instant, items: z.array(PlannedAction.extend({ service: z.string() })) })

export const ServiceList = z.object({
  items: z.array(
    z.object({
      service: z.string(),
      /** Null while nobody leads, or nobody has said so. */
      leader: z.object({ instance_id: z.string(), epoch: z.int(), since: Instant.nullable() }).nullable(),
      term: ServiceTerm.nullable(),
      /** When any replica was last heard of; null when none ever was. */
      last_seen_at: Instant.nullable(),
      instances: z.array(ServiceInstance.omit({ plan: true, version: true })),
    }),
  ),
})

export const Heartbeat = InstanceReport
/** How often people have asked the leader for something; a number that grew is a new request. */
export const HeartbeatAnswer = z.object({ triggers: z.int(), resignations: z.int() })

export const LeaderAsked = z.object({ service: z.string(), requested: z.literal(true) })

export const RegisterTerm = z.strictObject({ epoch: z.int().positive(), instance_id: z.string().min(1).max(200) })

const setting = z.object({ value: z.union([z.boolean(), z.number(), z.string()]), source: z.enum(SETTING_SOURCES) })
export const SettingsView = z.object({
  version: z.int(),
  updated_at: Instant.nullable(),
  settings: z.record(z.enum(Object.keys(SettingValues.shape)), setting),
})

export const LeakList = listOf(LicenseLeak)
export const ReportLeak = z.strictObject({
  worker_id: z.string().min(1).max(64),
  udi: z.string().max(200).nullable(),
  hostname: z.string().max(200).nullable(),
  product: z.string().max(64).nullable(),
  reason: z.string().max(500),
})

/** A machine of ours that no record stands for, and that is to go. */
export const OrphanTermination = z.strictObject({
  ec2_instance_id: InstanceId,
  aws_region: z.string().min(1).max(64),
  reason: z.string().max(500),
})
export const OrphanPermit = z.object({ granted: z.boolean(), because: z.string() })

export const ScaleUp = z.strictObject({
  template_name: z.string().min(1).max(64),
  aws_region: z.string().min(1).max(64),
  count: z.int().min(1).max(100),
  session_ids: z.array(z.string().max(64)).max(1000).default([]),
  /** The same key is the same flight, however often it is asked for. */
  key: z.string().min(1).max(128),
})
export const ScaleUpAnswer = z.object({ workers: z.array(WorkerView), because: z.string() })

export const Cleanup = z.strictObject({
  retention_days: z.int().min(1).max(3650).optional(),
  dry_run: z.boolean().default(false),
})
export const CleanupAnswer = z.object({ removed: z.array(z.string()), dry_run: z.boolean() })
