import { LicensePool, LicenseSeat, PooledProduct } from '@lcm/domain/license/license-pool'
import { z } from 'zod'
import { listOf, Page } from '../common-schemas.ts'
import { OPERATORS, type RouteSpec } from '../route-spec.ts'
import { LicenseToken } from '../worker.ts'

const workerField = z.string().meta({ description: 'The id of the worker.', example: 'w-5k1r2m3n8pq4t' })

const SeatView = LicenseSeat.omit({ worker_version: true })
  .extend({ worker_id: workerField })
  .meta({ id: 'LicenseSeat', description: 'A seat of a license pool that is in use.' })

const WaitingWorker = z
  .object({ worker_id: workerField, worker_name: LicenseSeat.shape.worker_name })
  .meta({ id: 'WaitingWorker', description: 'A worker that waits for a license seat.' })

export const LicensePoolView = LicensePool.omit({ taken: true, secret_refs: true })
  .extend({
    free: z.int().meta({ description: 'The number of free seats.', example: 2 }),
    leaked: z.int().meta({ description: 'Seats in use by open license leaks.', example: 0 }),
    taken: z.array(SeatView).meta({ description: 'The seats in use, the oldest first.' }),
    waiting: z.array(WaitingWorker).meta({ description: 'Workers that wait for a free seat.' }),
  })
  .meta({ id: 'LicensePool', description: 'The licenses of one product, and the workers that hold them.' })
export type LicensePoolView = z.infer<typeof LicensePoolView>

export const LicensePoolList = listOf(LicensePoolView).meta({
  id: 'LicensePoolList',
  description: 'A page of license pools.',
})

const seatsField = LicensePool.shape.seats
const tokenField = LicenseToken.meta({
  description: 'The Smart Licensing token that registers the workers. Write-only.',
  example: 'NWIxZTg…',
})

export const CreateLicensePool = z
  .strictObject({ product: PooledProduct, seats: seatsField, token: tokenField })
  .meta({ id: 'CreateLicensePool', description: 'A license pool to create.' })

export const PutLicensePool = z
  .strictObject({
    seats: seatsField,
    token: tokenField.optional().meta({
      description: 'Another Smart Licensing token; the present one stays without it. Write-only.',
      example: 'NWIxZTg…',
    }),
  })
  .meta({ id: 'PutLicensePool', description: 'Replaces a license pool. An omitted token stays.' })

const PRODUCT = { product: { description: 'The license product.', example: 'CML_Enterprise' } } as const

export const LICENSE_POOL_ROUTES = {
  listLicensePools: {
    method: 'GET',
    path: '/license-pools',
    summary: 'List license pools',
    description: 'Returns the license pools with their seats, and the workers that hold them.',
    access: { roles: ['admin', 'operator'], controller: 'resource-scheduler' },
    query: Page,
    status: 200,
    answer: LicensePoolList,
    problems: [],
  },
  createLicensePool: {
    method: 'POST',
    path: '/license-pools',
    summary: 'Create a license pool',
    description:
      'Creates a pool of licenses of one product. Workers whose template names the product take a seat, and return it.',
    access: OPERATORS,
    body: CreateLicensePool,
    status: 201,
    answer: LicensePoolView,
    location: '/license-pools/{product}',
    idempotent: true,
    problems: ['already_exists'],
  },
  getLicensePool: {
    method: 'GET',
    path: '/license-pools/{product}',
    params: PRODUCT,
    summary: 'Get a license pool',
    description: 'Returns one license pool with its seats. The token is never returned.',
    access: OPERATORS,
    status: 200,
    answer: LicensePoolView,
    problems: ['not_found'],
  },
  putLicensePool: {
    method: 'PUT',
    path: '/license-pools/{product}',
    params: PRODUCT,
    summary: 'Replace a license pool',
    description:
      'Changes the number of seats, and perhaps the token. Refused with fewer seats than are in use. With another token, ' +
      'registrations that failed are tried again.',
    access: OPERATORS,
    body: PutLicensePool,
    status: 200,
    answer: LicensePoolView,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'license_pool_in_use'],
  },
  deleteLicensePool: {
    method: 'DELETE',
    path: '/license-pools/{product}',
    params: PRODUCT,
    summary: 'Delete a license pool',
    description: 'Deletes a license pool that has no seat in use, with its token.',
    access: OPERATORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'license_pool_in_use'],
  },
} as const satisfies Record<string, RouteSpec>
