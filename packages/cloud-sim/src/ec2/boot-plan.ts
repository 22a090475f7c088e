import type { CmlStage } from '@lcm/domain/worker/boot-stages'
import { type SecondsRange, within } from '../seeded-random.ts'
import type { TimelineEntry } from '../state-timeline.ts'

export interface BootMoment extends TimelineEntry {
  readonly stage: CmlStage
}

type Step = readonly [CmlStage, SecondsRange]

/** Time from power-on until a port is open. Bare metal verifies its hardware first, which takes minutes. */
const METAL_POWER_ON: SecondsRange = [270, 330]
const VIRTUAL_POWER_ON: SecondsRange = [60, 120]
const METAL_RESTART: SecondsRange = [150, 210]
const VIRTUAL_RESTART: SecondsRange = [30, 60]

const SERVICES_START: readonly Step[] = [
  ['TCP', [2, 5]],
  ['TLS', [2, 5]],
  ['GATEWAY', [20, 40]],
  ['API', [20, 50]],
]

/**
 * The first boot ends with a reboot by cloud-init, and CML has already reported that it is ready by then: a client that
 * trusts a single response fails. Later starts have no such reboot.
 */
function stepsOf(start: { readonly metal: boolean; readonly first: boolean }): readonly Step[] {
  if (!start.first) return [['NOTHING', start.metal ? METAL_RESTART : VIRTUAL_RESTART], ...SERVICES_START]
  return [
    ['NOTHING', start.metal ? METAL_POWER_ON : VIRTUAL_POWER_ON],
    ...SERVICES_START,
    ['READY', [15, 30]],
    ['NOTHING', [60, 90]],
    ...SERVICES_START,
  ]
}

export interface BootStart {
  readonly running_from_ms: number
  readonly metal: boolean
  readonly first: boolean
  readonly speed: number
  /** Random number of step n. */
  readonly fraction: (step: number) => number
}

/** Boot timeline of CML on a machine that runs from that time on. The last stage is READY. */
export function bootPlan(start: BootStart): readonly BootMoment[] {
  const moments: BootMoment[] = []
  let fromMs = start.running_from_ms
  for (const [index, [stage, range]] of stepsOf(start).entries()) {
    moments.push({ stage, from_ms: fromMs })
    fromMs += Math.round((within(range, start.fraction(index)) * 1000) / start.speed)
  }
  return [...moments, { stage: 'READY', from_ms: fromMs }]
}
