import { createHash } from 'node:crypto'
import type { Reason } from '@lcm/domain/reason'
import type { SchedulingStep } from '@lcm/domain/session/scheduling-types'
import type { Worker } from '@lcm/domain/worker/worker'
import type { CycleReport, ReportParts } from './report.ts'

type ScaleUpStep = Extract<SchedulingStep, { kind: 'scale_up' }>

/** Limits of the API for one purchase. */
const COUNT_MAX = 100
const SESSION_IDS_MAX = 1000
const REFUSALS = ['scale_up_rejected', 'template_not_found', 'template_disabled', 'region_not_configured']

export type Purchase =
  /** The workers are being created. */
  | { readonly kind: 'granted' }
  | { readonly kind: 'refused'; readonly because: Reason }
  /** The outcome is unknown; the next cycle asks again. */
  | { readonly kind: 'left' }

export interface Purchases {
  /** Requests the workers of one purchase. */
  ask(cycle: CycleReport, step: ScaleUpStep): Promise<Purchase>
}

/**
 * The same sessions request the same purchase, however often and under any leader, so a repetition buys nothing. Only
 * when all workers of that purchase have started or ended do the same sessions request another; the API decides.
 */
export function purchases({ client, counters, decisions }: ReportParts): Purchases {
  const numbers = new Map<string, number>()

  async function askFor(cycle: CycleReport, step: ScaleUpStep, key: string): Promise<Purchase | 'over'> {
    const body = bodyOf(step, key)
    const written = await cycle.write(call => client.call('scaleUp', { ...call, body }), REFUSALS)
    if (written === null) return { kind: 'left' }
    const resource = `fleet:${placeOf(step)}`
    const seen = { count: body.count, sessions: step.session_ids.length, key }
    if (written.kind === 'refused') {
      counters.add('scale_up_refused')
      decisions.note(resource, cycle.epoch, cycle.note({ action: 'wait', because: written.because, seen }))
      return { kind: 'refused', because: written.because }
    }
    const { workers, because } = written.answer
    if (!workers.some(isUnderWay)) return 'over'
    counters.add('scale_up_requested')
    decisions.note(
      resource,
      cycle.epoch,
      cycle.note({ action: 'scale_up', because: step.because, outcome: because.message, seen }),
    )
    return { kind: 'granted' }
  }

  return {
    async ask(cycle, step) {
      // Failed writes put the observation in doubt, so nothing is bought.
      if (cycle.failures() > 0) return { kind: 'left' }
      const name = `${placeOf(step)}/${step.group} ${keyOf(step)}`
      const number = numbers.get(name) ?? 1
      const asked = await askFor(cycle, step, `${keyOf(step)}:${number}`)
      if (asked !== 'over') return asked
      numbers.set(name, number + 1)
      const again = await askFor(cycle, step, `${keyOf(step)}:${number + 1}`)
      return again === 'over' ? { kind: 'left' } : again
    },
  }
}

const placeOf = ({ template_name, aws_region }: ScaleUpStep): string => `${template_name}/${aws_region}`

const bodyOf = ({ template_name, aws_region, group, count, session_ids }: ScaleUpStep, key: string) => ({
  template_name,
  aws_region,
  group,
  count: Math.min(count, COUNT_MAX),
  session_ids: session_ids.slice(0, SESSION_IDS_MAX),
  key,
})

const keyOf = ({ session_ids }: ScaleUpStep): string =>
  createHash('sha256').update(session_ids.toSorted().join(' ')).digest('hex').slice(0, 32)

const isUnderWay = ({ status }: Pick<Worker, 'status'>): boolean =>
  status === 'PENDING' || status === 'PROVISIONING' || status === 'STARTING'
