import type { Reason } from '@lcm/domain/reason'
import { accessAdvice } from '@lcm/domain/worker/decision/cml-access'
import type { Condition } from '@lcm/domain/worker/worker'
import { Age } from '../age.tsx'

export const ConditionsCard = ({ conditions }: { conditions: readonly Condition[] }) =>
  conditions.length === 0 ? null : (
    <section class="card" aria-labelledby="conditions-title">
      <h2 id="conditions-title">Conditions</h2>
      <ul class="conditions">
        {conditions.map(condition => (
          <li key={condition.type}>
            <strong>{condition.type}</strong> is {condition.status ? 'true' : 'false'} for{' '}
            <Age since={condition.since} />
            <span class="muted" title={condition.reason.code}>
              {condition.reason.message}
            </span>
            <Advice reason={condition.reason} />
          </li>
        ))}
      </ul>
    </section>
  )

function Advice({ reason }: { reason: Reason }) {
  const advice = accessAdvice(reason)
  return advice === null ? null : <span>To fix it, {advice}.</span>
}
