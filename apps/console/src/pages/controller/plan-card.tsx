import { toMs } from '@lcm/domain/instant'
import { actionWords, planCounts, planKindOf } from '@lcm/domain/text/action-words'
import { durationText } from '@lcm/domain/text/format-amounts'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { canSeeAllSessions } from '../../state/permission.ts'
import { resourceLinkOf } from '../../state/resource-link.ts'
import { exactText } from '../../state/time-format.ts'
import { type PlanItem, planByService } from './service-health.ts'

interface PlanProps {
  readonly plan: { readonly items: readonly PlanItem[] }
  readonly services: readonly string[]
}

export function PlanCard({ plan, services }: PlanProps) {
  const seesAll = canSeeAllSessions(useConsole().state.info.value)
  return (
    <section class="card plan" aria-labelledby="plan-title">
      <h2 id="plan-title">
        Plan <span class="muted">next actions of the leaders{!seesAll && ", without other users' sessions"}</span>
      </h2>
      {planByService(plan.items, services).map(([service, items]) => (
        <ServicePlan key={service} service={service} items={items} />
      ))}
    </section>
  )
}

const SHOWN_AT_FIRST = 12

function ServicePlan({ service, items }: { service: string; items: readonly PlanItem[] }) {
  const shown = useSignal(SHOWN_AT_FIRST)
  return (
    <div class="service-plan">
      <h3>
        {service} <span class="number muted">{planCounts(items)}</span>
      </h3>
      {items.length > 0 && (
        <ul>
          {items.slice(0, shown.value).map(item => (
            <PlanLine key={`${item.resource} ${item.action}`} item={item} />
          ))}
        </ul>
      )}
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

function PlanLine({ item }: { item: PlanItem }) {
  const { resource, action, because } = item
  const { state } = useConsole()
  const { kind, name, href } = resourceLinkOf(resource, state.live)
  return (
    <li class="plan-line">
      <Due item={item} />
      <strong class="decision-action">{actionWords(action)}</strong>
      <span class="plan-resource">
        <span class="muted">{kind}</span> {href === null ? name : <a href={href}>{name}</a>}
      </span>
      <span class="plan-because" title={because.code}>
        {because.message}
      </span>
    </li>
  )
}

const DUE_TEXTS = { act: 'now', wait: 'waiting', blocked: 'blocked' } as const

function Due({ item }: { item: PlanItem }) {
  const at = item.due_at
  const { nowMs } = useConsole()
  const leftMs = at === null ? 0 : toMs(at) - nowMs.value
  if (at === null || leftMs < 1_000) return <span class="due">{DUE_TEXTS[planKindOf(item.action)]}</span>
  return (
    <time class="due number" dateTime={at} title={exactText(toMs(at))}>
      in {durationText(leftMs)}
    </time>
  )
}
