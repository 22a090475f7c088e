import { countText } from '@lcm/domain/text/format-amounts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { type Read, useRead } from '../../parts/use-read.ts'
import type { Query } from '../../state/router.ts'
import { PlanCard } from './plan-card.tsx'
import { ServiceCard } from './service-card.tsx'
import { healthOf } from './service-health.ts'
import { useLeaderRequests } from './use-leader-requests.ts'

const EVERY_MS = 5_000
/** Reload interval while a request to a leader is in progress. */
const SOON_MS = 1_000

export function ControllersPage(_: { query: Query }) {
  const { nowMs } = useConsole()
  const requests = useLeaderRequests()
  const isAwaited = useSignal(false)
  const services = useRead('services', (client, signal) => client.call('listServices', { signal }), {
    everyMs: isAwaited.value ? SOON_MS : EVERY_MS,
  })
  const plan = useRead('plan', (client, signal) => client.call('getFleetPlan', { signal }), { everyMs: EVERY_MS })
  const items = services.value?.items ?? []
  const isPending = items.some(service => requests.pendingOf(service) !== null)
  useEffect(() => {
    isAwaited.value = isPending
  }, [isPending, isAwaited])
  const healthy = items.filter(service => healthOf(service, nowMs.value).tone === 'green').length
  return (
    <section class="page">
      <header class="headline">
        <div>
          <h1 tabIndex={-1}>Controllers</h1>
          <p class="muted">
            {services.value === null
              ? 'Loading services…'
              : `${countText(items.length, 'service')}, ${healthy} healthy`}
          </p>
        </div>
      </header>
      <ReadFailed what="the services" read={services} />
      <div class="services">
        {services.value === null && services.error === null && <Bones />}
        {items.map(service => (
          <ServiceCard key={service.service} service={service} requests={requests} />
        ))}
      </div>
      <ReadFailed what="the plan" read={plan} />
      {plan.value !== null && <PlanCard plan={plan.value} services={items.map(({ service }) => service)} />}
    </section>
  )
}

const Bones = () => (
  <div class="loading" aria-busy="true">
    <span class="bone row" />
    <span class="bone row" />
    <span class="bone row" />
  </div>
)

/** The last data stays visible below the error. */
function ReadFailed({ what, read }: { what: string; read: Read<unknown> }) {
  if (read.error === null) return null
  return (
    <p class="banner tone-orange" role="alert">
      <span>
        Could not load {what}: {read.error}
      </span>
      <button type="button" class="button small" onClick={read.reload}>
        Try again
      </button>
    </p>
  )
}
