import { SettingValues } from '@lcm/domain/fleet/settings'
import { Instant } from '@lcm/domain/instant'
import { z } from 'zod'
import { OPERATORS, type RouteSpec } from '../route-spec.ts'

const NAMES_MAX = 100
const { max_workers_per_region, scale_up_enabled } = SettingValues.shape

export const CapacityChange = z
  .strictObject({
    settings: z
      .strictObject({ max_workers_per_region, scale_up_enabled })
      .partial()
      .default({})
      .meta({
        description: 'Settings with other values.',
        example: { max_workers_per_region: 2 },
      }),
    disabled_templates: z
      .array(z.string().min(1).max(64))
      .max(NAMES_MAX)
      .default([])
      .meta({
        description: 'Names of templates that are disabled.',
        example: ['metal'],
      }),
    cordoned_workers: z.array(z.string().min(1).max(64)).max(NAMES_MAX).default([]).meta({
      description: 'Ids of workers that are cordoned.',
      example: [],
    }),
  })
  .meta({ id: 'CapacityChange', description: 'A change that may remove capacity.' })

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
    sessions: z.array(AffectedSession).meta({ description: 'The first of them, by start.' }),
  })
  .meta({ id: 'CapacityPreview', description: 'The sessions that a change would leave without capacity.' })
export type CapacityPreview = z.infer<typeof CapacityPreview>

export const CAPACITY_PREVIEW_ROUTES = {
  previewCapacity: {
    method: 'POST',
    path: '/capacity/preview',
    summary: 'Preview a change of capacity',
    description:
      'Returns the admitted sessions that the change would leave without the capacity that they were promised. Changes nothing. ' +
      'After such a change these sessions are marked with `admission.at_risk`.',
    access: OPERATORS,
    body: CapacityChange,
    status: 200,
    answer: CapacityPreview,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
