import { RESOURCES } from '@lcm/control-plane/resources'
import { holdsSeat } from '@lcm/domain/license/seat-decisions'
import { at, changeDocuments, type Mutant } from './mutant.ts'

/** One seat, and three workers that need one. */
const ONE_SEAT = [
  at(0, 'change a license pool', { amount: 0 }),
  ...[0, 0.2, 0.4].map(target => at(1 + target, 'create from a license pool', { target })),
]

/** Defects in the accounting of license pools. */
export const licenseMutants: readonly Mutant[] = [
  {
    name: 'double license',
    breaks: 'a license pool forgets the seats that it gave away',
    caughtBy: /license seat/,
    acts: ONE_SEAT,
    defects: () => ({ store: changeDocuments(RESOURCES.licensePools, pool => ({ ...pool, taken: {} })) }),
  },
  {
    name: 'seat freed before the license is returned',
    breaks: 'a worker that stops gives its seat up and keeps its license',
    caughtBy: /license seat/,
    acts: [...ONE_SEAT, at(40, 'stop', { target: 0 })],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, worker =>
        worker.status === 'STOPPING' && holdsSeat(worker)
          ? { ...worker, license: { ...worker.license, seat: 'wanted' as const } }
          : worker,
      ),
    }),
  },
]
