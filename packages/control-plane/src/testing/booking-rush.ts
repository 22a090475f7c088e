import type { Store } from '@lcm/store/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { offerMachines, TOPOLOGY } from './bookable-fleet.ts'

const CONFIG = { version: '0.0.0', profile: 'cluster', cloud: 'sim', regions: ['us-east-1'] } as const

export interface Rush {
  readonly accepted: number
  readonly refused: number
  /** Codes of all refusals. */
  readonly codes: ReadonlySet<string>
  /** Sessions in the store afterwards. */
  readonly sessions: number
  readonly usage: { readonly live_sessions: number }
}

/** Many concurrent bookings by one user, on two replicas of the API that share a store. */
export async function bookingRush(
  store: Store,
  { bookings, quota }: { bookings: number; quota: number },
): Promise<Rush> {
  const config = { ...CONFIG, settings: { quota_user_live_sessions: quota } }
  const replica = (seed: number) => aControlPlane({ store, config, randomBytes: seededRandom(seed).bytes })
  const [first, second] = [replica(1), replica(2)]
  const stops = [first, second].map(plane => plane.run('change-key-feed', 'announcer'))
  await offerMachines(first)
  await first.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY } })
  const book = (nth: number) =>
    (nth % 2 === 0 ? first : second).send('POST', 'lablet-sessions', { as: 'user', json: { definition: 'bgp' } })
  const answers = await Promise.all(Array.from({ length: bookings }, (_, nth) => book(nth)))
  for (const stop of stops) await stop()
  const refused = answers.filter(({ status }) => status !== 201)
  return {
    accepted: answers.length - refused.length,
    refused: refused.length,
    codes: new Set(refused.map(({ json }) => json.code)),
    sessions: (await first.all('sessions')).length,
    usage: (await first.send('GET', 'quotas/user')).json.used,
  }
}
