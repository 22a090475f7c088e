import type { Client } from '@lcm/client/client'
import type { PastRatio as Ratio } from '@lcm/domain/economy/past-ratio'
import type { Instant } from '@lcm/domain/instant'
import { pastRatioText, timesText } from '@lcm/domain/text/economy-text'
import { useConsole } from '../../parts/console-context.ts'
import { useRead } from '../../parts/use-read.ts'
import { isAllowed } from '../../state/permission.ts'

const READ_EVERY_MS = 10 * 60_000

/** What machines cost against the least possible, for roles that may read which labs ran. */
export function PastRatio({ since }: { since: Instant }) {
  const { state } = useConsole()
  return isAllowed(state.info.value, 'getFleetUsage') ? <ReadRatio since={since} /> : null
}

function ReadRatio({ since }: { since: Instant }) {
  const { value } = useRead(`usage ${since}`, (client, signal) => readRatio(client, since, signal), {
    everyMs: READ_EVERY_MS,
  })
  if (value === null || value.ratio === null) return null
  return (
    <p class="past-ratio" title={pastRatioText(value.ratio)}>
      <strong class="number">{timesText(value.ratio.to_bound)}</strong>{' '}
      <span class="muted">the least that its labs could have cost</span>
      <span class="sr-only">. {pastRatioText(value.ratio)}</span>
    </p>
  )
}

/** The computation is loaded when it is needed. */
async function readRatio(
  client: Client,
  since: Instant,
  signal: AbortSignal,
): Promise<{ readonly ratio: Ratio | null }> {
  const { pastRatio } = await import('@lcm/domain/economy/past-ratio')
  return { ratio: pastRatio(await client.call('getFleetUsage', { query: { since }, signal })) }
}
