import { Ec2Refusal } from '../ec2/refusal.ts'
import type { Delivery, FaultInjector } from './fault-injector.ts'

/**
 * Network fault for the next call of an action, or null. Throws scripted EC2 errors. Call it before the call takes
 * effect, and apply the result.
 */
export function drawDelivery(faults: FaultInjector, action: string): Delivery | null {
  const scripted = faults.takeScripted(action)
  if (typeof scripted === 'string') return scripted
  if (scripted) throw new Ec2Refusal(scripted.code, scripted.message, scripted.status)
  const plan = faults.plan()
  const rates: readonly (readonly [Delivery, number])[] = [
    ['lost_request', plan.lost_request_rate],
    ['lost_answer', plan.lost_answer_rate],
    ['held', plan.held_answer_rate],
    ['empty', plan.empty_answer_rate],
    ['truncated', plan.truncated_answer_rate],
    ['html', plan.html_answer_rate],
  ]
  return rates.find(([delivery, rate]) => faults.strikes(rate, delivery, action))?.[0] ?? null
}
