/** Figure 2.6: what a million known keys at rest cost, their key strings included. Needs `--expose-gc`. */
import { reconciliation, success, systemClock } from '@lcm/runtime'
import { atMost, conclude, shown } from '../../report/figure-report.ts'

const KEYS = 1_000_000
const PAGE = 1_000
const BAR_BYTES = 500

/** A flat string of 36 characters as JSON.parse returns it, not shared. */
const aKey = (index: number) =>
  Buffer.from(`0b5e7a3c-91d4-4f6e-8a2b-${String(index).padStart(12, '0')}`).toString('latin1')

function heapBytes(): number {
  if (!globalThis.gc) throw new Error('run with --expose-gc')
  for (let round = 0; round < 3; round += 1) globalThis.gc()
  return process.memoryUsage().heapUsed
}

let left = KEYS
let finish: () => void = () => undefined
const finished = new Promise<void>(resolve => {
  finish = resolve
})
const stop = new AbortController()
const result = success()
const loop = reconciliation({
  name: 'bench',
  clock: systemClock,
  triggers: [
    {
      name: 'bench',
      async run({ add, waitForCapacity }) {
        for (let first = 0; first < KEYS; first += PAGE) {
          for (let index = first; index < first + PAGE; index += 1) add(aKey(index), 'bench')
          await waitForCapacity()
        }
      },
    },
  ],
  reconcile: async () => {
    left -= 1
    if (left === 0) finish()
    return result
  },
})

const before = heapBytes()
const over = loop.run(stop.signal)
await finished
const bytesPerKey = Math.round((heapBytes() - before) / loop.health().resources_managed)
stop.abort()
await over
conclude({
  bench: 'key-memory',
  figures: [
    atMost(`${shown(KEYS)} known keys at rest, key strings of 36 characters included, each`, BAR_BYTES, {
      value: bytesPerKey,
      unit: 'bytes',
    }),
  ],
})
