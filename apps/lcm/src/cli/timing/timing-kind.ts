import { readList } from '@lcm/client/list-pages'
import { quantile, type Timing } from '@lcm/domain/calendar/timings'
import { notThere } from '../find-resource.ts'
import type { Kind } from '../resource-kinds.ts'
import type { ResourceView } from '../resource-view.ts'
import { formatDuration } from '../terminal/duration.ts'

const atShare =
  (share: number) =>
  ({ recent_ms }: Timing): string => {
    const ms = quantile(recent_ms, share)
    return ms === null ? '' : formatDuration(ms)
  }

export const TIMING_VIEW: ResourceView<Timing> = {
  nameOf: timing => timing.id,
  columns: () => [
    { title: 'OF', text: timing => timing.id },
    { title: 'COUNT', text: timing => String(timing.recent_ms.length) },
    { title: 'MEDIAN', text: atShare(0.5) },
    { title: 'P99', text: atShare(0.99) },
    { title: 'SLOWEST', text: atShare(1) },
  ],
  whenEmpty: 'no timings found: machines, labs and teardowns are measured when they run',
}

/** Polled, because timings have no events. */
const READ_EVERY_MS = 15_000

export const TIMINGS: Kind<Timing> = {
  plural: 'timings',
  singular: 'timing',
  view: TIMING_VIEW,
  hidden: null,
  isHidden: () => false,
  async find(client, id, signal) {
    const { items } = await TIMINGS.list(client, true, signal)
    const found = items.find(timing => timing.id === id)
    if (found === undefined) throw notThere('timing', id, 'lcm get timings')
    return found
  },
  list: (client, _, signal) => readList(query => client.call('listTimings', { query, signal })),
  everyMs: READ_EVERY_MS,
  changed: () => null,
  deleted: () => null,
}
