import { actionWords } from '@lcm/domain/decision-words'
import { toMs } from '@lcm/domain/instant'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/wiring.ts'
import { countText, durationText, momentText } from '../../wording.ts'
import { thingOf } from '../audit/audited-thing.ts'
import { type PlanItem, planByService } from './service-view.ts'

interface PlanProps {
  readonly plan: { readonly items: readonly PlanItem[] }
  readonly services: readonly string[]
}

export const PlanCard = ({ plan, services }: PlanProps) => (
  <section class="card plan" aria-labelledby="plan-title">
    <h2 id="plan-title">
      Plan <span class="muted">what the leaders would do, and when</span>
    </h2>
    {planByService(plan.items, services).map(([service, items]) => (
      <ServicePlan key={service} service={service} items={items} />
    ))}
  </section>
)

const SHOWN_AT_FIRST = 12

function ServicePlan({ service, items }: { service: string; items: readonly PlanItem[] }) {
  const shown = useSignal(SHOWN_AT_FIRST)
  return (
    <div class="service-plan">
      <h3>
        {service}{' '}
        <span class="number muted">{items.length === 0 ? 'nothing to do' : countText(items.length, 'thing')}</span>
      </h3>
      <ul>
        {items.slice(0, shown.value).map(item => (
          <PlanLine key={`${item.resource} ${item.action}`} item={item} />
        ))}
      </ul>
      {items.length > shown.value && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            shown.value = items.length
          }}
        >
          Show all {items.length}
        </button>
      )}
    </div>
  )
}

function PlanLine({ item: { resource, action, because, due_at } }: { item: PlanItem }) {
  const { state } = useConsole()
  const { kind, name, href } = thingOf(resource, state.live)
  return (
    <li class="plan-line">
      <Due at={due_at} />
      <strong class="decision-action">{actionWords(action)}</strong>
      <span class="plan-thing">
        <span class="muted">{kind}</span> {href === null ? name : <a href={href}>{name}</a>}
      </span>
      <span class="plan-because">{because}</span>
    </li>
  )
}

function Due({ at }: { at: string | null }) {
  const { nowMs } = useConsole()
  const leftMs = at === null ? 0 : toMs(at) - nowMs.value
  if (at === null || leftMs <= 0) return <span class="due">now</span>
  return (
    <time class="due number" dateTime={at} title={momentText(toMs(at))}>
      in {durationText(leftMs)}
    </time>
  )
}
