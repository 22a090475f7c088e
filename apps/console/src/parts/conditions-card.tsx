import type { Instant } from '@lcm/domain/instant'
import { Age } from './age.tsx'

interface Condition {
  readonly type: string
  readonly status: boolean
  readonly reason: string
  readonly message: string
  readonly since: Instant
}

export const ConditionsCard = ({ conditions }: { conditions: readonly Condition[] }) =>
  conditions.length === 0 ? null : (
    <section class="card" aria-labelledby="conditions-title">
      <h2 id="conditions-title">Conditions</h2>
      <ul class="conditions">
        {conditions.map(condition => (
          <li key={condition.type}>
            <strong>{condition.type}</strong> is {condition.status ? 'true' : 'false'} for{' '}
            <Age since={condition.since} />
            <span class="muted">{condition.message || condition.reason}</span>
          </li>
        ))}
      </ul>
    </section>
  )
