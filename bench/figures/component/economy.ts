/** Figure of 5.9: what policies pay for a term of bookings, against the least that could be paid. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { feasibleSchedule } from '@lcm/domain/economy/feasible-schedule'
import { lowerBound } from '@lcm/domain/economy/lower-bound'
import type { MachineTime } from '@lcm/domain/economy/machine-model'
import { MACHINE } from '../../economy/cloud-times.ts'
import { alwaysOn, workHours } from '../../economy/fixed-fleet.ts'
import { labSpans } from '../../economy/lab-spans.ts'
import { plannerPolicy } from '../../economy/planner-policy.ts'
import { playTrace } from '../../economy/play-trace.ts'
import type { Policy } from '../../economy/policy.ts'
import { readTrace, TraceError } from '../../economy/read-trace.ts'
import { FAULTS, type Fault, faultsOf } from '../../economy/scenario.ts'
import { SETTINGS, schedulerPolicy } from '../../economy/scheduler-policy.ts'
import { type Score, scoreOf } from '../../economy/score.ts'
import { syntheticTrace } from '../../economy/synthetic-trace.ts'
import { type Booking, inWeeks, TERM_MS, WEEK_MS } from '../../economy/trace.ts'
import { conclude, type Figure, measured, shown } from '../../report/figure-report.ts'

const SYNTHETIC = { seed: 1, weeks: 4 }

const { values } = parseArgs({
  options: {
    trace: { type: 'string', multiple: true, default: [] },
    weeks: { type: 'string' },
    fault: { type: 'string', multiple: true, default: [...FAULTS] },
    seed: { type: 'string', default: '1' },
  },
})

/** Ends the bench with one line that says what to do. */
function fail(message: string): never {
  process.stderr.write(`economy: ${message}\n`)
  process.exit(1)
}

function traceOf(file: string): Booking[] {
  try {
    return readTrace(readFileSync(file, 'utf8'), file)
  } catch (error) {
    if (error instanceof TraceError) fail(error.message)
    return fail(`${file} can't be read. Give the path of a CSV file after --trace.`)
  }
}

/** As in `2-5`, or one week alone. */
function weeksOf(bookings: readonly Booking[]): Booking[] {
  const last = Math.ceil((Math.max(...bookings.map(({ startMs }) => startMs)) + 1 - TERM_MS) / WEEK_MS)
  const [, from = '1', to = from] = /^(\d+)(?:-(\d+))?$/.exec(values.weeks ?? `1-${last}`) ?? fail(WEEKS_HELP)
  const chosen = inWeeks(bookings, Number(from), Number(to))
  return chosen.length > 0
    ? chosen
    : fail(`no session begins in weeks ${from} to ${to}. The trace has weeks 1 to ${last}.`)
}
const WEEKS_HELP = '--weeks needs the first and the last week, such as 2-5.'

const faults = values.fault.map(
  given => FAULTS.find(each => each === given) ?? fail(`unknown fault ${given}. Choose from ${FAULTS.join(', ')}.`),
)
const seed = /^\d+$/.test(values.seed) ? Number(values.seed) : fail('--seed needs a whole number.')

const timeWords = ({ usd, hours, boots, machines }: MachineTime): string =>
  `${shown(Math.round(usd))} USD, ${shown(Math.round(hours))} h, ${shown(boots)} boots, ${machines} machines`

const scoreWords = (score: Score): string =>
  [
    `${shown(Math.round(score.usd))} USD`,
    `${score.toBound.toFixed(3)} x bound`,
    `${score.toFeasible.toFixed(3)} x feasible`,
    `late ${score.latePercent.toFixed(3)} %`,
    `unserved ${shown(score.unserved)} (booked ahead ${shown(score.unservedBooked)})`,
    `walk-ins p50 ${score.walkInP50.toFixed(1)}, p95 ${score.walkInP95.toFixed(1)} min`,
    `${shown(score.boots)} boots`,
    `peak ${score.peak}`,
  ].join(', ')

/** `machines` is the peak of LCM, so that fixed fleets have capacity for all. */
const baselines = (machines: number): Policy[] => [
  alwaysOn(machines),
  workHours(machines),
  schedulerPolicy('idle-60, nothing ahead', { ...SETTINGS, schedule_ahead_minutes: 0 }),
]
const product = (): Policy => plannerPolicy('LCM')

const FAULT_WORDS: Readonly<Record<Fault | 'none', string>> = {
  none: '',
  refusals: ', EC2 refuses 2 % of starts for 20 min',
  'slow-day': ', boots 2 x slower on the busiest Wednesday',
}

function figuresOf(name: string, bookings: readonly Booking[]): Figure[] {
  const spans = labSpans(bookings)
  const least = { bound: lowerBound(spans, MACHINE), feasible: feasibleSchedule(spans, MACHINE) }
  const scored = (policy: Policy, fault: Fault | 'none') =>
    scoreOf(playTrace(bookings, policy, { seed, faults: faultsOf(fault, bookings) }), least)
  const figure = ({ name: policy }: Policy, fault: Fault | 'none', score: Score) =>
    measured(`${name}: ${policy}${FAULT_WORDS[fault]}`, scoreWords(score))
  const plain = scored(product(), 'none')
  return [
    measured(`${name}: lower bound`, timeWords(least.bound)),
    measured(`${name}: feasible for clairvoyants`, timeWords(least.feasible)),
    figure(product(), 'none', plain),
    ...faults.map(fault => figure(product(), fault, scored(product(), fault))),
    ...baselines(plain.peak).map(policy => figure(policy, 'none', scored(policy, 'none'))),
  ]
}

const traces = values.trace.map(file => ({ name: basename(file, '.csv'), bookings: traceOf(file) }))
const synthetic = { name: 'synthetic', bookings: syntheticTrace(SYNTHETIC.seed, SYNTHETIC.weeks) }
conclude({
  bench: 'economy',
  figures: (traces.length > 0 ? traces : [synthetic]).flatMap(({ name, bookings }) =>
    figuresOf(name, weeksOf(bookings)),
  ),
})
