/**
 * Growth of memory: `lcm up` with 200 workers and its simulated cloud for half an hour under load. Runs only by name:
 * `npm run bench -- soak`, or as a trial `npm run bench -- soak --minutes 3`.
 */
import { parseArgs } from 'node:util'
import { systemClock } from '@lcm/runtime/clock'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { type Left, runningLcm } from '../../product/lcm-up-process.ts'
import type { Line } from '../../report/chart-svg.ts'
import { conclude, type Figure, measured } from '../../report/figure-report.ts'
import { type Fit, leastSquares } from '../../report/least-squares.ts'
import { rounded } from '../../report/quantiles.ts'
import { leastOfEachMinute, type Vitals, vitalsFrom } from '../../soak/process-vitals.ts'
import { peopleAt } from '../../soak/simulated-users.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const minutes = Number(values.minutes)
/** Warm-up: caches fill and most code is compiled. */
const WARM_UP_MINUTES = Math.min(10, minutes / 3)
const WORKERS = 200
/** Some belong to another LCM, and some are terminated. */
const MACHINES = 330
const EVERY_MS = 10_000
/** Interval of garbage collections. */
const COLLECTED_EVERY = 6
const BAR_MB_PER_HOUR = 5

const lcm = await runningLcm(19_447, {
  args: ['--sim-fleet', String(MACHINES)],
  // The newest are discovered at an age of two minutes, which should be in the warm-up.
  env: { WORKER_DISCOVERY_INTERVAL: '30' },
  isThere: workers => workers.length >= WORKERS,
})
const people = peopleAt(lcm.client, seededRandom(13))
const startMs = systemClock.monotonic()
const vitals: Vitals[] = []
/** Heap after garbage collection, by minute. */
const left: (Left & { readonly minute: number })[] = []
for (let n = 1; n * EVERY_MS <= minutes * 60_000; n += 1) {
  await systemClock.sleep(startMs + n * EVERY_MS - systemClock.monotonic())
  const minute = (systemClock.monotonic() - startMs) / 60_000
  if (n % COLLECTED_EVERY === 0) left.push({ minute, ...(await lcm.collectGarbage()) })
  vitals.push(vitalsFrom(await lcm.metrics(), minute))
}
await people.leave()
await lcm.stop()

const warm = vitals.filter(({ minute }) => minute >= WARM_UP_MINUTES)
const line = (name: string, of: (each: Vitals) => number): Line => ({
  name,
  points: vitals.map(each => [each.minute, of(each)] as const),
})
const guide = (name: string, { slope, intercept }: Fit): Line => ({
  name,
  isGuide: true,
  points: [WARM_UP_MINUTES, minutes].map(minute => [minute, rounded(intercept + slope * minute, 2)] as const),
})

/** Two standard errors to either side decide; otherwise a longer run is needed. */
function growth(what: string, { slope, standardError }: Fit): Figure {
  const [perHour, error] = [slope * 60, standardError * 60]
  const met = perHour + 2 * error <= BAR_MB_PER_HOUR ? true : perHour - 2 * error > BAR_MB_PER_HOUR ? false : null
  const result = `${rounded(perHour)} MB/h (standard error ${rounded(error)} MB/h)`
  return { what, bar: `<= ${BAR_MB_PER_HOUR} MB/h`, result, met }
}

const resident = leastSquares(leastOfEachMinute(warm.map(({ minute, rssMb }) => [minute, rssMb])))
const warmLeft = left.filter(({ minute }) => minute >= WARM_UP_MINUTES)
const heap = leastSquares(warmLeft.map(({ minute, heapMb }) => [minute, heapMb]))
const code = leastSquares(warmLeft.map(({ minute, codeMb }) => [minute, codeMb]))
const atMost = (of: (each: Vitals) => number) => Math.max(...warm.map(of))
const last = vitals.at(-1)
const soaked = `${minutes} min of \`lcm up\` with ${lcm.workers.length} workers and people`
conclude({
  bench: 'soak',
  figures: [
    growth(`${soaked}: resident memory, the least of each minute, grows by`, resident),
    growth(`${soaked}: the heap that a collection of garbage leaves grows by`, heap),
    measured(
      `${soaked}: of that what V8 compiles`,
      `${rounded(code.slope * 60)} MB/h, ${rounded(left.at(-1)?.codeMb ?? 0)} MB at the end`,
    ),
    measured(
      `${soaked}: at the end`,
      `${last?.rssMb} MB resident, ${last?.heapMb} MB of heap, ${last?.handles} handles`,
    ),
    measured(`${soaked}: longest block of the event loop`, `${rounded(atMost(({ loopMaxMs }) => loopMaxMs))} ms`),
    measured(`${soaked}: what was done`, [...people.counts].map(([name, count]) => `${count} ${name}`).join(', ')),
  ],
  charts: [
    {
      name: 'soak-memory',
      title: `Memory of lcm up with ${lcm.workers.length} workers`,
      x: { label: 'minutes', scale: 'linear' },
      y: { label: 'MB', scale: 'linear' },
      lines: [
        line('resident', each => each.rssMb),
        line('heap', each => each.heapMb),
        {
          name: 'heap after a collection',
          points: left.map(({ minute, heapMb }) => [rounded(minute, 2), rounded(heapMb, 2)] as const),
        },
        guide('fits after the warm-up', resident),
        guide('', heap),
      ],
    },
    {
      name: 'soak-event-loop',
      title: 'Delay of its event loop',
      x: { label: 'minutes', scale: 'linear' },
      y: { label: 'milliseconds, of each 10 s', scale: 'log' },
      lines: [line('longest', each => each.loopMaxMs), line('p99', each => each.loopP99Ms)],
    },
    {
      name: 'soak-handles',
      title: 'Its open handles',
      x: { label: 'minutes', scale: 'linear' },
      y: { label: 'handles', scale: 'linear' },
      lines: [line('handles', each => each.handles)],
    },
  ],
})
