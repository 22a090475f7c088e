import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import { toInstant, toMs } from '@lcm/domain/instant'
import { withoutAmounts } from '@lcm/domain/reason'
import type { Api } from '../../api-context.ts'
import { scalingEntry } from '../journal/entries.ts'
import { fleetScaling } from './change-fleet-scaling.ts'

/** The subject of decisions about the whole fleet. */
export const FLEET_SUBJECT = 'fleet_scaling:fleet'

/**
 * Throws the error again, and records why a purchase or wake-up was refused. The same refusal is recorded once an hour: sessions
 * that wait for capacity retry every few seconds.
 */
export async function recordRefusal(api: Api, target: string, details: object, error: unknown): Promise<never> {
  const isRefusal = error instanceof ProblemError && REFUSALS.has(error.code)
  if (isRefusal && error.reason !== undefined) {
    const because = error.reason
    const now = toInstant(Math.max(api.clock.now(), toMs((await fleetScaling(api)).updated_at) + 1))
    const what = `${target} ${JSON.stringify(withoutAmounts(because))} ${now.slice(0, 13)}`
    const id = `${FLEET_SUBJECT}:rejected:${createHash('sha256').update(what).digest('hex').slice(0, 16)}`
    const entry = scalingEntry('scale_up_rejected', now, { ...details, because })
    await api.store.journal.append([{ ...entry, id, subject: FLEET_SUBJECT }])
  }
  throw error
}

const REFUSALS: ReadonlySet<string> = new Set(['scale_up_rejected', 'budget_exceeded'])
