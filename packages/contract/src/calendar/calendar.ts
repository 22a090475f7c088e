import { FleetCalendar, FORECAST_DAYS_DEFAULT, FORECAST_DAYS_MAX } from '@lcm/domain/forecast/fleet-calendar'
import { Instant } from '@lcm/domain/instant'
import { LabNeeds } from '@lcm/domain/lab/topology'
import { Capacity, HourlyUsd } from '@lcm/domain/template/worker-template'
import { z } from 'zod'
import { OPERATORS, type RouteSpec } from '../route-spec.ts'

const CalendarQuery = z.strictObject({
  days: z.coerce.number().int().min(1).max(FORECAST_DAYS_MAX).default(FORECAST_DAYS_DEFAULT).meta({
    description: 'How many days of bookings to return.',
  }),
})

const UsageQuery = z.strictObject({
  since: Instant.optional().meta({
    description:
      'The start of the period; by default seven days ago, and at most as long ago as ended sessions are kept.',
    example: '2026-01-02T00:00:00.000Z',
  }),
})

export const FleetUsage = z
  .object({
    at: Instant.meta({ description: 'The end of the period.' }),
    since: Instant.meta({ description: 'The start of the period.' }),
    machine_usd: z.number().meta({
      description: 'What machines cost in it, without their disks, in USD.',
      example: 1611.2,
    }),
    machines: z
      .array(
        z.object({
          template_name: z
            .string()
            .meta({ description: 'The template, or the type of imported machines.', example: 'metal' }),
          capacity: Capacity.meta({ description: 'The capacity of one machine.' }),
          usd_per_hour: HourlyUsd.meta({ description: 'The price of one machine in USD per hour.' }),
          running_at_start: z.int().meta({ description: 'How many of them ran when the period began.', example: 0 }),
          boot_ms: z
            .number()
            .meta({ description: 'How long its boots take on average, in milliseconds.', example: 569_400 }),
        }),
      )
      .meta({ description: 'The kinds of machines that cost anything in the period.' }),
    labs: z
      .array(
        z.object({
          needs: LabNeeds.meta({ description: 'What each of them needs.' }),
          times: z.array(z.tuple([z.number(), z.number()])).meta({
            description: 'When each one started and was gone, in milliseconds since 1970.',
            example: [[1767344400000, 1767351720000]],
          }),
        }),
      )
      .meta({ description: 'The labs that ran, by what they need. They name no session.' }),
  })
  .meta({ id: 'FleetUsage', description: 'What ran in the past, to compare its cost with the least possible.' })

export const CALENDAR_ROUTES = {
  getCalendar: {
    method: 'GET',
    path: '/calendar',
    summary: 'Get the calendar of the fleet',
    description:
      'Returns everything that a forecast is computed from: open sessions with their definitions, workers, templates, settings, ' +
      'measured times and prices. The console and `lcm forecast` compute the forecast themselves.',
    access: OPERATORS,
    query: CalendarQuery,
    status: 200,
    answer: FleetCalendar,
    problems: [],
  },
  getFleetUsage: {
    method: 'GET',
    path: '/fleet/usage',
    summary: 'Get the labs that ran',
    description:
      'Returns when labs ran and what machines cost meanwhile. The console and `lcm cost` compute the least possible cost from it.',
    access: OPERATORS,
    query: UsageQuery,
    status: 200,
    answer: FleetUsage,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
