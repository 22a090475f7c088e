import { useConsole } from '../../../parts/console-context.ts'
import { useRead } from '../../../parts/use-read.ts'
import { quotaText } from './booking-draft.ts'

const EVERY_MS = 15_000

/** How much of the user's own quota is used. */
export function QuotaLine({ isLater }: { isLater: boolean }) {
  const { state } = useConsole()
  const owner = state.info.value?.actor.id
  return owner === undefined ? null : <QuotaOf owner={owner} isLater={isLater} />
}

function QuotaOf({ owner, isLater }: { owner: string; isLater: boolean }) {
  const quota = useRead(`quota ${owner}`, (client, signal) => client.call('getQuota', { params: { owner }, signal }), {
    everyMs: EVERY_MS,
  })
  const text = quota.value && quotaText(quota.value, isLater)
  return text === null ? null : <p class="muted number">{text}</p>
}
