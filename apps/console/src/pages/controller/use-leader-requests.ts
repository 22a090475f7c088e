import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { failureText } from '../../state/error-text.ts'
import { isFulfilled, type LeaderRequest, type Service } from './service-health.ts'

/** The clock on the page is renewed once a second. */
const TICK_MS = 1_000

export interface LeaderRequests {
  /** What its leader was asked and has not done yet. */
  pendingOf(service: Service): LeaderRequest | null
  send(service: Service, what: LeaderRequest['what']): Promise<void>
}

/** Services are no resources that the stream tells of: what was asked is over when a later look at them shows it. */
export function useLeaderRequests(): LeaderRequests {
  const { client, notices, nowMs } = useConsole()
  const asked = useSignal<ReadonlyMap<string, LeaderRequest>>(new Map())
  const set = (name: string, ask: LeaderRequest | null) => {
    const next = new Map(asked.value)
    if (ask) next.set(name, ask)
    else next.delete(name)
    asked.value = next
  }
  return {
    pendingOf(service) {
      const ask = asked.value.get(service.service) ?? null
      return ask === null || isFulfilled(ask, service) ? null : ask
    },
    async send({ service, leader }, what) {
      set(service, { what, atMs: nowMs.peek() + TICK_MS, epoch: leader?.epoch ?? 0 })
      const call = { params: { service }, body: {} }
      try {
        await (what === 'trigger' ? client.call('triggerService', call) : client.call('resignService', call))
      } catch (error) {
        set(service, null)
        notices.show('refused', `Could not ask the leader of ${service}`, failureText(error))
      }
    },
  }
}
