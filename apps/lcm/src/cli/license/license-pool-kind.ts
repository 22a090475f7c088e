import { unlessMissing } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { LicensePoolView } from '@lcm/contract/license/license-pool'
import { countText } from '@lcm/domain/text/format-amounts'
import { notThere } from '../find-resource.ts'
import type { Kind } from '../resource-kinds.ts'
import type { ResourceView } from '../resource-view.ts'
import { type Fact, factLines, section, tableOf } from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, printable } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'

const HOLDERS_MAX = 3

export const LICENSE_POOL_VIEW: ResourceView<LicensePoolView> = {
  nameOf: pool => pool.product,
  columns: (_, colors) => [
    { title: 'PRODUCT', text: pool => pool.product },
    { title: 'SEATS', text: pool => String(pool.seats), isNumber: true },
    {
      title: 'FREE',
      text: pool => String(pool.free),
      isNumber: true,
      paint: (text, { free }) => (free === 0 ? colors.yellow(text) : text),
    },
    {
      title: 'LEAKED',
      text: pool => String(pool.leaked),
      isNumber: true,
      paint: (text, { leaked }) => (leaked > 0 ? colors.yellow(text) : text),
    },
    {
      title: 'WAITING',
      text: pool => String(pool.waiting.length),
      isNumber: true,
      paint: (text, { waiting }) => (waiting.length > 0 ? colors.yellow(text) : text),
    },
    { title: 'HELD BY', text: holdersText },
  ],
  whenEmpty: 'no license pools found: create one with `lcm create license-pool PRODUCT --seats N`',
}

function holdersText({ taken }: LicensePoolView): string {
  const names = taken.slice(0, HOLDERS_MAX).map(({ worker_name }) => worker_name)
  const more = taken.length - names.length
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

/** Polled, because license pools have no events. */
const READ_EVERY_MS = 15_000

export const LICENSE_POOLS: Kind<LicensePoolView> = {
  plural: 'licenses',
  singular: 'license-pool',
  view: LICENSE_POOL_VIEW,
  hidden: null,
  isHidden: () => false,
  async find(client, wanted, signal) {
    const named = await unlessMissing(client.call('getLicensePool', { params: { product: wanted }, signal }))
    if (named !== null) return named
    const { items } = await LICENSE_POOLS.list(client, true, signal)
    const found = items.find(({ id }) => id === wanted)
    if (found === undefined) throw notThere('license pool', wanted, 'lcm get licenses')
    return found
  },
  list: (client, _, signal) => readList(query => client.call('listLicensePools', { query, signal })),
  everyMs: READ_EVERY_MS,
  changed: () => null,
  deleted: () => null,
}

type Seat = LicensePoolView['taken'][number]

/** The complete description of a license pool and its seats. */
export function describeLicensePool(pool: LicensePoolView, nowMs: number, colors: Colors): string[] {
  const facts: readonly Fact[] = [
    ['seats', `${pool.seats}, ${pool.free} free`],
    ['leaked', pool.leaked === 0 ? null : `${pool.leaked}: list them with \`lcm get leaks\``],
    ['age', ageOf(pool.created_at, nowMs)],
  ]
  const waiting = pool.waiting.map(({ worker_name, worker_id }) => printable(`${worker_name} (${worker_id})`))
  const advice = `add seats with \`lcm edit license-pool ${pool.product} --seats ${pool.seats + waiting.length}\``
  return [
    colors.bold(printable(pool.product)),
    ...factLines(facts, colors),
    ...section('Seats in use', tableOf(seatColumns(nowMs), pool.taken), colors),
    ...section(
      'Waiting',
      waiting.length === 0 ? [] : [...waiting, `${countText(waiting.length, 'worker')} without a seat: ${advice}`],
      colors,
    ),
  ]
}

const seatColumns = (nowMs: number): readonly Column<Seat>[] => [
  { title: 'WORKER', text: seat => seat.worker_name },
  { title: 'ID', text: seat => seat.worker_id },
  { title: 'FOR', text: seat => ageOf(seat.since, nowMs) },
  { title: 'LEAK', text: seat => seat.leak_id ?? '' },
]
