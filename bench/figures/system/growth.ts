/**
 * Resource use of a settled fleet by its size: figure of 4.10 for the steady cycle, and curves. Every service is a separate
 * process. All workers share one CML server, so that the load is that of LCM.
 */
import { parseArgs } from 'node:util'
import { systemClock } from '@lcm/runtime/clock'
import { type AtRest, atRest } from '../../growth/measure-at-rest.ts'
import { openServices } from '../../growth/service-processes.ts'
import type { Chart, Line } from '../../report/chart-svg.ts'
import { atMost, conclude, type Figure, measured, never, shown } from '../../report/figure-report.ts'
import { rounded } from '../../report/quantiles.ts'

const { values } = parseArgs({ options: { sizes: { type: 'string', default: '10,100,1000,10000' } } })
const sizes = values.sizes.split(',').map(Number)
const CYCLES_PER_MINUTE = 2
const REGIONS = 1
/** Exponent of growth: 1 is linear. Fixed costs lower it, and the machine adds noise. */
const BAR_EXPONENT = 1.1

const grown: AtRest[] = []
for (const workers of sizes) {
  const startedMs = systemClock.monotonic()
  const services = await openServices(workers)
  try {
    grown.push(await atRest(services, workers))
  } finally {
    await services.close()
  }
  console.log(
    `  ${shown(workers)} workers took ${Math.round((systemClock.monotonic() - startedMs) / 1000)} s to measure`,
  )
}

const total = (by: Readonly<Record<string, number>>) => Object.values(by).reduce((sum, each) => sum + each, 0)
const cpuOf = (each: AtRest) => total(each.cpuSecondsPerMinute)
const callsOf = (service: string) => (each: AtRest) =>
  total(Object.fromEntries(Object.entries(each.apiCallsPerMinute).filter(([kind]) => kind.startsWith(service))))

function figuresOf(each: AtRest): Figure[] {
  const fleet = `${shown(each.workers)} workers at rest`
  const calls = rounded(each.ec2CallsPerMinute / CYCLES_PER_MINUTE)
  return [
    atMost(`${fleet}: EC2 calls a cycle`, each.workers / 200 + REGIONS, { value: calls }),
    never(`${fleet}: written in a minute`, { worker: each.workersWritten }),
    measured(
      `${fleet}: a minute takes`,
      [
        `${rounded(cpuOf(each))} s of CPU`,
        `${shown(total(each.memoryMb))} MB in four processes`,
        `${total(each.apiCallsPerMinute)} calls to the API`,
        `${each.otherAwsCallsPerMinute} to CloudWatch`,
        `store ${rounded(each.storeMb)} MB`,
        `longest block ${Math.round(each.longestBlockMs)} ms`,
      ].join(', '),
    ),
  ]
}

/** Exponent of CPU growth over the last step. */
function growth(): Figure[] {
  const [smaller, larger] = grown.slice(-2)
  if (smaller === undefined || larger === undefined) return []
  const exponent = Math.log(cpuOf(larger) / cpuOf(smaller)) / Math.log(larger.workers / smaller.workers)
  const what = `CPU at rest grows from ${shown(smaller.workers)} to ${shown(larger.workers)} workers, exponent`
  return [atMost(what, BAR_EXPONENT, { value: rounded(exponent, 2) })]
}

const line = (name: string, of: (each: AtRest) => number): Line => ({
  name,
  points: grown.map(each => [each.workers, rounded(of(each), 3)] as const).filter(([, value]) => value > 0),
})
const services = Object.keys(grown[0]?.memoryMb ?? {})
const chart = (name: string, title: string, label: string, lines: readonly Line[]): Chart => ({
  name,
  title,
  x: { label: 'workers', scale: 'log' },
  y: { label, scale: 'log' },
  lines,
})
conclude({
  bench: 'growth',
  figures: [...grown.flatMap(figuresOf), ...growth()],
  charts: [
    chart('growth-cpu', 'CPU of a fleet at rest', 'seconds a minute', [
      ...services.map(name => line(name, each => each.cpuSecondsPerMinute[name] ?? 0)),
      line('all', cpuOf),
    ]),
    chart(
      'growth-memory',
      'Memory of the processes',
      'MB',
      services.map(name => line(name, each => each.memoryMb[name] ?? 0)),
    ),
    chart('growth-calls', 'Calls of a fleet at rest', 'calls a minute', [
      line('EC2', each => each.ec2CallsPerMinute),
      line('CloudWatch', each => each.otherAwsCallsPerMinute),
      ...services.slice(1).map(name => line(`${name} to the API`, callsOf(name))),
    ]),
    chart('growth-store', 'The store on disk', 'MB', [line('SQLite with its log', each => each.storeMb)]),
  ],
  details: { grown },
})
