import { SettingsPatch } from '@lcm/domain/fleet/settings'
import { Instant } from '@lcm/domain/instant'
import { LICENSE_SEATS_MAX, PooledProduct } from '@lcm/domain/license/license-pool'
import { z } from 'zod'
import { OPERATORS, type RouteSpec } from '../route-spec.ts'

const { max_workers_per_region, scale_up_enabled } = SettingsPatch.shape
const NAMES_MAX = 1000
const names = (description: string, example: string[]) =>
  z.array(z.string().min(1).max(64)).max(NAMES_MAX).default([]).meta({ description, example })

const SmallerPool = z
  .strictObject({
    product: PooledProduct,
    seats: z.int().min(0).max(LICENSE_SEATS_MAX).meta({
      description: 'How many workers it would license; 0 if it is deleted.',
      example: 2,
    }),
  })
  .meta({ id: 'LicensePoolChange', description: 'A license pool with another number of seats.' })

export const CapacityChange = z
  .strictObject({
    settings: z
      .strictObject({ max_workers_per_region, scale_up_enabled })
      .default({})
      .meta({
        description: 'Settings with other values; null for a setting that would be reset.',
        example: { max_workers_per_region: 2 },
      }),
    removed_templates: names('Names of templates that would be disabled or deleted.', ['metal']),
    closed_workers: names(
      'Ids of workers that would be cordoned, drained or stopped: they still count as workers.',
      [],
    ),
    terminated_workers: names('Ids of workers that would be terminated: others may be bought instead.', []),
    license_pools: z
      .array(SmallerPool)
      .max(NAMES_MAX)
      .default([])
      .meta({ description: 'License pools with other numbers of seats.', example: [] }),
  })
  .meta({ id: 'CapacityChange', description: 'A change that may remove capacity.' })
export type CapacityChange = z.infer<typeof CapacityChange>

const AffectedSession = z
  .object({
    id: z.string().meta({ description: 'The session.', example: 'ls-5k1r2m3n8pq4t' }),
    definition: z.string().meta({ description: 'The name of its definition.', example: 'bgp-basics' }),
    owner_name: z.string().meta({ description: 'The name of its owner.', example: 'Ann' }),
    start: Instant.meta({ description: 'The start of its timeslot.' }),
  })
  .meta({ id: 'SessionWithoutCapacity', description: 'A session whose promise could not be kept.' })

export const CapacityPreview = z
  .object({
    affected: z.int().meta({ description: 'How many admitted sessions would lose their capacity.', example: 1 }),
    sessions: z.array(AffectedSession).meta({ description: 'The first 200 of them, by start.' }),
  })
  .meta({ id: 'CapacityPreview', description: 'The sessions that a change would leave without capacity.' })
export type CapacityPreview = z.infer<typeof CapacityPreview>

export const CAPACITY_PREVIEW_ROUTES = {
  previewCapacity: {
    method: 'POST',
    path: '/capacity/preview',
    summary: 'Preview a change of capacity',
    description:
      'Returns the admitted sessions that the change would leave without the capacity that they were promised, and that have it ' +
      'now. Changes nothing. About a minute after such a change these sessions have `admission.at_risk`, and their owners and ' +
      'the operators are notified.',
    access: OPERATORS,
    body: CapacityChange,
    status: 200,
    answer: CapacityPreview,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
