import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Instant } from '../instant.ts'

export const LICENSE_SEATS_MAX = 10_000

/** A product that licenses are pooled for. It is part of a path, so it has fewer characters than CML allows. */
export const PooledProduct = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'letters, digits, _, . and -, at most 64')
  .meta({ id: 'PooledProduct', description: 'The license product, as CML names it.', example: 'CML_Enterprise' })

export const LicenseSeat = z
  .object({
    worker_name: z.string().meta({ description: 'The name of the worker that took it.', example: 'training-1' }),
    since: Instant.meta({ description: 'When it was taken.' }),
    /** The version of the worker that the seat was taken for; 0 if the worker is still to be created. */
    worker_version: z.int().nonnegative(),
    leak_id: z.string().nullable().meta({
      description: 'The open license leak that occupies it; null if its worker holds it.',
      example: null,
    }),
  })
  .meta({ id: 'LicenseSeatRecord', description: 'A seat of a license pool that is in use, as it is stored.' })
export type LicenseSeat = z.infer<typeof LicenseSeat>

/** One document per product: a seat is taken by compare-and-set, so that two workers never take the last one. */
export const LicensePool = z
  .object({
    ...documentFields('lp-5k1r2m3n8pq4t'),
    product: PooledProduct,
    seats: z.int().min(1).max(LICENSE_SEATS_MAX).meta({ description: 'How many workers it licenses.', example: 4 }),
    taken: z.record(z.string(), LicenseSeat).default({}).meta({ description: 'The seats in use by worker id.' }),
    secret_refs: z.record(z.string(), z.string()).default({}),
  })
  .meta({ id: 'LicensePoolRecord', description: 'A license pool as it is stored.' })
export type LicensePool = z.infer<typeof LicensePool>

/** The seats of one product. Leaked seats are in use until their leak is resolved. */
export interface SeatCount {
  readonly total: number
  readonly free: number
}

type Counted = Pick<LicensePool, 'seats' | 'taken'>

export const seatCount = ({ seats, taken }: Counted): SeatCount => ({
  total: seats,
  free: Math.max(0, seats - Object.keys(taken).length),
})

/** Free seats by product. A product that is not in it has no pool, and LCM does not limit it. */
export type FreeSeats = ReadonlyMap<string, number>

export const NO_POOLS: FreeSeats = new Map()

/** What the planner, admission and scale-up count. */
export const freeSeatsOf = (pools: Iterable<{ readonly product: string; readonly free: number }>): FreeSeats =>
  new Map([...pools].map(({ product, free }) => [product, free]))

/** How many machines of a product may still be bought. */
export const freeSeatsFor = (product: string | null, licenses: FreeSeats): number =>
  product === null ? Number.POSITIVE_INFINITY : (licenses.get(product) ?? Number.POSITIVE_INFINITY)
