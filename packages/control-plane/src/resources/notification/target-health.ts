import { toInstant } from '@lcm/domain/instant'
import { NOTHING_DELIVERED } from '@lcm/domain/notification/notification-target'
import type { Api } from '../../api-context.ts'
import type { Delivery } from '../../changes/webhook/http-post.ts'

/** Records what became of a delivery. Another replica that records at the same time is as true. */
export async function recordHealth(api: Api, targetId: string, delivery: Delivery): Promise<void> {
  // It may have been deleted during the delivery.
  if ((await api.notificationTargets.get(targetId)) === null) return
  const now = toInstant(api.clock.now())
  const known = await api.targetHealth.get(targetId)
  const change =
    delivery.outcome === 'accepted'
      ? { last_success_at: now }
      : { last_error_at: now, last_error: delivery.reason.slice(0, 300) }
  const version = (known?.version ?? 0) + 1
  const next = { ...NOTHING_DELIVERED, ...known, ...change, id: targetId, version }
  await (known === null ? api.targetHealth.insert(next) : api.targetHealth.replace(next))
}
