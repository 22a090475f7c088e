import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { failureText } from '../../state/failure-text.ts'
import { isFulfilled, type LeaderRequest, type Service } from './service-health.ts'

/** The page's clock ticks once a second. */
const TICK_MS = 1_000

export interface LeaderRequests {
  /** Request to the leader in progress; null without one. */
  pendingOf(service: Service): LeaderRequest | null
  send(service: Service, what: LeaderRequest['what']): Promise<void>
}

/** The event stream has no services, so a request is complete when a later read shows its effect. */
export function useLeaderRequests(): LeaderRequests {
  const { client, notices, nowMs } = useConsole()
  const pending = useSignal<ReadonlyMap<string, LeaderRequest>>(new Map())
  const set = (name: string, ask: LeaderRequest | null) => {
    const next = new Map(pending.value)
    if (ask) next.set(name, ask)
    else next.delete(name)
    pending.value = next
  }
  return {
    pendingOf(service) {
      const ask = pending.value.get(service.service) ?? null
      return ask === null || isFulfilled(ask, service) ? null : ask
    },
    async send({ service, leader }, what) {
      set(service, { what, atMs: nowMs.peek() + TICK_MS, epoch: leader?.epoch ?? 0 })
      const call = { params: { service }, body: {} }
      try {
        await (what === 'trigger' ? client.call('triggerService', call) : client.call('resignService', call))
      } catch (error) {
        set(service, null)
        notices.show('refused', `Could not ${what} the leader of ${service}`, failureText(error))
      }
    },
  }
}
