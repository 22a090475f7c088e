import { FleetWarning } from '@lcm/domain/fleet/fleet-warning'
import { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { Instant } from '@lcm/domain/instant'
import { Reason } from '@lcm/domain/reason'
import { PlannedAction } from '@lcm/domain/service-instance'
import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import { COST_SHARES, type CostShare } from '@lcm/domain/worker/worker-field-schemas'
import { z } from 'zod'
import { ActionReason, listOf, Page } from './common-schemas.ts'
import { EVERYONE, OPERATORS, type RouteSpec, SCHEDULER, WORKER_CONTROLLER } from './route-spec.ts'
import { WorkerView } from './worker.ts'
import { InstanceId } from './worker-controller-routes.ts'

const amounts = z.object({
  cpu_cores: z.number().meta({ description: 'CPU cores.', example: 144 }),
  memory_gb: z.number().meta({ description: 'Memory in GB.', example: 576 }),
  storage_gb: z.number().meta({ description: 'Storage in GB.', example: 600 }),
  nodes: z.number().meta({ description: 'Lab nodes.', example: 600 }),
})
const byStatus = z.object(
  Object.fromEntries(
    WORKER_STATUSES.map(status => [
      status,
      z.int().meta({ description: `Workers in status ${status}.`, example: status === 'RUNNING' ? 3 : 0 }),
    ]),
  ),
)
const CAUSE_TEXTS: Readonly<Record<CostShare, string>> = {
  boot: 'Machines that boot, in USD.',
  session: 'Machines with sessions, in USD.',
  idle: 'Machines without sessions, in USD.',
  drain: 'Machines that drain, in USD.',
  failed: 'Machines of failed workers, in USD.',
  disk: 'Disks of all machines, running or stopped, in USD.',
}
const byCause = z.object(
  Object.fromEntries(
    COST_SHARES.map(cause => [cause, z.number().meta({ description: CAUSE_TEXTS[cause], example: 1.5 })]),
  ),
)
const spentField = z.number().meta({ description: 'The money spent, in USD.', example: 18.2 })
const unknownPricesField = z.int().meta({
  description: 'Workers whose machine has no known price; the sums lack them.',
  example: 0,
})
const savedField = z.number().meta({ description: 'The money saved by stopping idle workers, in USD.', example: 42.5 })
const sinceField = Instant.meta({ description: 'The start of the period that money is summed over.' })
const byCauseField = byCause.meta({ description: 'The money spent by cause.' })

const SummaryQuery = z.strictObject({
  since: Instant.optional().meta({
    description: 'The start of the period that money is summed over; by default seven days ago.',
    example: '2026-01-02T00:00:00.000Z',
  }),
})

export const FleetSummary = z
  .object({
    at: Instant.meta({ description: 'When it was computed.' }),
    workers: z
      .object({
        total: z.int().meta({ description: 'All workers that are not terminated.', example: 3 }),
        by_status: byStatus.meta({ description: 'The number of workers by status.' }),
        idle: z.int().meta({ description: 'Running workers without users.', example: 1 }),
        needs_attention: z.int().meta({ description: 'Workers that need an operator.', example: 0 }),
      })
      .meta({ description: 'The number of workers.' }),
    capacity: z
      .object({
        declared: amounts.meta({ description: 'The size of the machines that run.' }),
        usable: amounts.meta({
          description:
            'What sessions can have now: their reservations, and what is free on workers that accept sessions, within the ' +
            'limits of licenses.',
        }),
        reserved: amounts.meta({
          description: 'The capacity that sessions reserve; storage only on workers whose storage is known.',
        }),
        closed_workers: z
          .int()
          .meta({ description: 'Workers whose machine runs and that accept no sessions now.', example: 0 }),
      })
      .meta({ description: 'Declared, usable and reserved capacity.' }),
    cost: z
      .object({
        per_hour_usd: z.number().meta({ description: 'The current cost in USD per hour.', example: 11.9 }),
        unknown_prices: unknownPricesField,
        since: sinceField,
        spent_usd: spentField,
        saved_usd: savedField,
        by_cause: byCauseField,
        by_day: z
          .array(
            z.object({
              day: z.iso.date().meta({ description: 'The day in UTC.', example: '2026-01-02' }),
              spent_usd: spentField,
              saved_usd: savedField,
            }),
          )
          .meta({ description: 'Days in UTC, oldest first. The first day is counted from `since` on.' }),
      })
      .meta({ description: 'Cost.' }),
  })
  .meta({ id: 'FleetSummary', description: 'The fleet in numbers.' })

const Spent = z.object({ spent_usd: spentField, saved_usd: savedField, by_cause: byCauseField })
export const FleetCost = Spent.extend({
  at: Instant.meta({ description: 'When it was computed.' }),
  since: sinceField,
  unknown_prices: unknownPricesField.meta({
    description: 'Workers whose machine had no known price at some time since then; the sums lack it.',
    example: 0,
  }),
  items: z
    .array(
      Spent.extend({
        is_price_known: z.boolean().meta({ description: 'Whether the price of its machine was known all the time.' }),
        worker_id: z.string().meta({ description: 'The id of the worker.', example: 'w-5k1r2m3n8pq4t' }),
        name: z.string().nullable().meta({
          description: 'The name of the worker; null if its record was deleted.',
          example: 'training-1',
        }),
      }),
    )
    .meta({ description: 'Workers with any cost or with an unknown price, the most expensive first.' }),
}).meta({ id: 'FleetCost', description: 'The cost of the fleet by worker.' })

export const FleetPlan = z
  .object({
    at: Instant.meta({ description: 'When it was computed.' }),
    items: z
      .array(
        PlannedAction.extend({
          service: z.string().meta({ description: 'The service that would act.', example: 'worker-controller' }),
        }),
      )
      .meta({ description: 'The planned actions.' }),
  })
  .meta({ id: 'FleetPlan', description: 'What the controllers would do now.' })

const Budget = z
  .object({
    period: z.enum(['day', 'month']).meta({ description: 'The period, in UTC.', example: 'day' }),
    from: Instant.meta({ description: 'When it began.' }),
    until: Instant.meta({ description: 'When it ends.' }),
    limit_usd: z.number().meta({ description: 'The budget in USD.', example: 100 }),
    spent_usd: spentField,
    committed_usd: z.number().meta({
      description: 'What running machines cost until their known use ends, and disks until the period ends, in USD.',
      example: 12.4,
    }),
    left_usd: z
      .number()
      .meta({ description: 'The rest of the budget in USD; negative if it is exceeded.', example: 69.4 }),
  })
  .meta({ id: 'Budget', description: 'A budget and how much of it is used.' })

export const FleetWarnings = z
  .object({
    at: Instant.meta({ description: 'When it was computed.' }),
    budgets: z.array(Budget).meta({ description: 'The budgets that are set.' }),
    items: z.array(FleetWarning).meta({ description: 'The warnings.' }),
  })
  .meta({ id: 'FleetWarnings', description: 'Budgets, and warnings about the whole fleet.' })

export const OrphanTermination = z
  .strictObject({
    ec2_instance_id: InstanceId.meta({ description: 'The EC2 instance id.' }),
    aws_region: z.string().min(1).max(64).meta({ description: 'The AWS region.', example: 'us-east-1' }),
    reason: Reason.meta({ description: 'The reason.' }),
  })
  .meta({ id: 'OrphanTermination', description: 'A machine of LCM without a record, to be terminated.' })
export const OrphanPermit = z
  .object({
    granted: z.boolean().meta({ description: 'Whether the machine may be terminated.' }),
    because: Reason.meta({ description: 'The reason.' }),
  })
  .meta({ id: 'OrphanPermit', description: 'Whether an orphan may be terminated.' })

export const ScaleUp = z
  .strictObject({
    template_name: z.string().min(1).max(64).meta({ description: 'The template.', example: 'metal' }),
    aws_region: z.string().min(1).max(64).meta({ description: 'The AWS region.', example: 'us-east-1' }),
    count: z.int().min(1).max(100).meta({ description: 'The number of workers.', example: 1 }),
    session_ids: z.array(z.string().max(64)).max(1000).default([]).meta({
      description: 'The sessions that wait for the workers.',
    }),
    group: z
      .string()
      .regex(/^[\w.:-]{0,64}$/, 'letters, digits and dashes')
      .default('')
      .meta({
        description:
          'Only purchases of the same template, region and group wait for each other, such as those for sessions that start in ' +
          'the same hour.',
        example: '2026-01-02T09',
      }),
    key: z.string().min(1).max(128).meta({
      description: 'Identifies the purchase: a repeated key buys nothing more.',
      example: 'metal/us-east-1/1042',
    }),
  })
  .meta({ id: 'ScaleUp', description: 'A purchase of workers.' })
export const ScaleUpAnswer = z
  .object({
    workers: z.array(WorkerView).meta({ description: 'The created workers.' }),
    because: Reason.meta({ description: 'The reason.' }),
  })
  .meta({ id: 'ScaleUpAnswer', description: 'The result of a purchase.' })

const dryRunField = z.boolean().meta({ description: 'Only report what would be removed.' })
export const Cleanup = z
  .strictObject({
    retention_days: z.int().min(1).max(3650).optional().meta({
      description: 'Keep records that are younger; by default as the settings say.',
    }),
    dry_run: dryRunField.default(false),
  })
  .meta({ id: 'Cleanup', description: 'A cleanup of terminated workers.' })
export const CleanupAnswer = z
  .object({
    removed: z.array(z.string()).meta({ description: 'The ids of the removed records.', example: ['w-5k1r2m3n8pq4t'] }),
    dry_run: dryRunField,
  })
  .meta({ id: 'CleanupAnswer', description: 'The removed records.' })

export const LeakList = listOf(LicenseLeak).meta({ id: 'LeakList', description: 'A page of license leaks.' })
export const ReportLeak = z
  .strictObject({
    worker_id: z.string().min(1).max(64).meta({ description: 'The worker.', example: 'w-5k1r2m3n8pq4t' }),
    udi: z.string().max(200).nullable().meta({ description: 'The unique device identifier.', example: null }),
    hostname: z.string().max(200).nullable().meta({ description: 'The registered host name.', example: 'training-1' }),
    product: z.string().max(64).nullable().meta({ description: 'The license product.', example: 'CML_Enterprise' }),
    reason: Reason.meta({ description: 'The reason.' }),
  })
  .meta({ id: 'ReportLeak', description: 'A license that could not be returned.' })

export const FLEET_ROUTES = {
  getFleetSummary: {
    method: 'GET',
    path: '/fleet/summary',
    summary: 'Get a summary of the fleet',
    description: 'Returns the number of workers, their capacity and their cost.',
    access: EVERYONE,
    query: SummaryQuery,
    status: 200,
    answer: FleetSummary,
    problems: [],
  },
  getFleetCost: {
    method: 'GET',
    path: '/fleet/cost',
    summary: 'Get the cost of each worker',
    description: 'Returns the cost of each worker by cause, and what stopping it saved.',
    access: EVERYONE,
    query: SummaryQuery,
    status: 200,
    answer: FleetCost,
    problems: [],
  },
  getFleetPlan: {
    method: 'GET',
    path: '/fleet/plan',
    summary: 'Get the plan of the controllers',
    description:
      'Returns what the controllers would do now, and why. Users and authors get reasons that name no infrastructure.',
    access: EVERYONE,
    status: 200,
    answer: FleetPlan,
    problems: [],
  },
  getFleetWarnings: {
    method: 'GET',
    path: '/fleet/warnings',
    summary: 'Get warnings about the fleet',
    description:
      'Returns the budgets with what is spent and left, and warnings: budgets that are nearly used, and limits that are too low ' +
      'for what is booked in the next 14 days.',
    access: OPERATORS,
    status: 200,
    answer: FleetWarnings,
    problems: [],
  },
  listLicenseLeaks: {
    method: 'GET',
    path: '/license-leaks',
    summary: 'List license leaks',
    description:
      'Returns licenses that were not returned before their machine was lost. Users and authors get no device and host names.',
    access: EVERYONE,
    query: Page,
    status: 200,
    answer: LeakList,
    problems: [],
  },
  resolveLicenseLeak: {
    method: 'POST',
    path: '/license-leaks/{id}/resolve',
    params: { id: { description: 'The id of the leak.', example: 'll-5k1r2m3n8pq4t' } },
    summary: 'Resolve a license leak',
    description: 'Marks a leak as resolved, for example after the license was removed in the Smart Account.',
    access: OPERATORS,
    body: ActionReason,
    status: 202,
    answer: LicenseLeak,
    idempotent: true,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>

/** Routes that only controllers may call. */
export const FLEET_CONTROLLER_ROUTES = {
  scaleUp: {
    method: 'POST',
    path: '/workers/scale-up',
    summary: 'Scale up',
    description: 'Creates workers for sessions that wait for capacity, within the limits of the scale-up policy.',
    access: SCHEDULER,
    body: ScaleUp,
    status: 201,
    alsoStatus: { status: 200, meaning: 'this purchase was made before' },
    answer: ScaleUpAnswer,
    fenced: true,
    problems: ['template_not_found', 'template_disabled', 'region_not_configured', 'scale_up_rejected'],
  },
  cleanUpWorkers: {
    method: 'POST',
    path: '/workers/cleanup',
    summary: 'Clean up terminated workers',
    description: 'Deletes the records of workers that were terminated before the retention period.',
    access: SCHEDULER,
    body: Cleanup,
    status: 200,
    answer: CleanupAnswer,
    fenced: true,
    problems: [],
  },
  permitOrphanTermination: {
    method: 'POST',
    path: '/fleet/orphan-terminations',
    summary: 'Request permission to terminate an orphan',
    description: 'Permits the termination of a machine without a record, up to a limit per hour.',
    access: WORKER_CONTROLLER,
    body: OrphanTermination,
    status: 200,
    answer: OrphanPermit,
    fenced: true,
    problems: [],
  },
  reportLicenseLeak: {
    method: 'POST',
    path: '/license-leaks',
    summary: 'Record a license leak',
    description: 'Records a license that could not be returned.',
    access: WORKER_CONTROLLER,
    body: ReportLeak,
    status: 201,
    alsoStatus: { status: 200, meaning: 'the leak is recorded already' },
    answer: LicenseLeak,
    fenced: true,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
