import { z } from 'zod'
import { Timing } from '../calendar/timings.ts'
import { LabletDefinition } from '../definition/lablet-definition.ts'
import { SettingValues } from '../fleet/settings.ts'
import { Instant } from '../instant.ts'
import { PooledProduct } from '../license/license-pool.ts'
import { LabletSession } from '../session/lablet-session.ts'
import { WorkerTemplate } from '../template/worker-template.ts'
import { Worker } from '../worker/worker.ts'

export const FORECAST_DAYS_MAX = 31
export const FORECAST_DAYS_DEFAULT = 7

/** What the plan reads of a session. */
export const CalendarSession = LabletSession.pick({
  id: true,
  created_at: true,
  definition: true,
  needs: true,
  timeslot: true,
  desired_status: true,
  status: true,
  entered_status_at: true,
  worker_id: true,
  admission: true,
  state_history: true,
}).meta({ id: 'CalendarSession', description: 'A session, as far as it takes part in the plan.' })
export type CalendarSession = z.infer<typeof CalendarSession>

/** What the plan reads of a definition. */
export const CalendarDefinition = LabletDefinition.pick({
  id: true,
  name: true,
  needs: true,
  node_definitions_required: true,
  cml_version: true,
  license_affinity: true,
  port_template: true,
  boot_lead_minutes: true,
})
  .strip()
  .meta({ id: 'CalendarDefinition', description: 'A lab definition, as far as its sessions are planned by it.' })
export type CalendarDefinition = z.infer<typeof CalendarDefinition>

export const FleetCalendar = z
  .object({
    at: Instant.meta({ description: 'When it was read.' }),
    until: Instant.meta({ description: 'Later sessions are left out.' }),
    region: z.string().meta({ description: 'Where workers are bought.', example: 'us-east-1' }),
    sessions: z.array(CalendarSession).meta({ description: 'Open sessions that start before `until`, by id.' }),
    definitions: z.array(CalendarDefinition).meta({ description: 'The definitions of these sessions.' }),
    workers: z.array(Worker).meta({
      description:
        'All workers that are not TERMINATED, with their latest status changes and without their recent activity.',
    }),
    templates: z.array(WorkerTemplate).meta({ description: 'All templates.' }),
    settings: SettingValues.meta({ description: 'The effective settings.' }),
    timings: z.array(Timing).meta({ description: 'Measured durations of boots, lab starts and lab removals.' }),
    licenses: z
      .array(
        z.object({
          product: PooledProduct.meta({ description: 'The license product.', example: 'CML_Enterprise' }),
          free: z.int().nonnegative().meta({ description: 'The number of free seats.', example: 2 }),
        }),
      )
      .meta({ description: 'The license pools. A product without a pool is not limited.' }),
    spent_by_day: z
      .array(
        z.object({
          day: z.iso.date().meta({ description: 'The day in UTC.', example: '2026-01-02' }),
          spent_usd: z.number().meta({ description: 'What the fleet cost on that day, in USD.', example: 18.2 }),
        }),
      )
      .meta({ description: 'What budgets count: the days of this month, up to now.' }),
    disk_usd_per_gb_month: z.number().meta({ description: 'The price of disks in the region.', example: 0.08 }),
  })
  .meta({ id: 'FleetCalendar', description: 'Everything that a forecast is computed from.' })
export type FleetCalendar = z.infer<typeof FleetCalendar>
