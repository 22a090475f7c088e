import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { RESOURCES } from '@lcm/control-plane/resources'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { invariants } from './invariants.ts'
import { requestedState } from './requested-state-record.ts'

function openInvariants() {
  const clock = manualClock()
  const store = openSqliteStore(':memory:')
  const now = () => clock.now()
  const rules = invariants({
    cloud: openSimModel({ seed: 1, clock }),
    fleet: 'ours',
    latest: new Map(),
    workers: store.collection(RESOURCES.workers),
    leaks: store.collection(RESOURCES.leaks),
    pools: store.collection(RESOURCES.licensePools),
    journal: store.journal,
    requested: requestedState([], now),
    now,
    unreadable: async () => [],
    sessions: new Map(),
    isCloudHidden: () => false,
  })
  const { signal } = new AbortController()
  const lead = (by: string, service: string, epoch: number) =>
    rules.fenced(
      by,
      async () => ({ status: 200, headers: {}, body: '' }),
      service,
    )({ method: 'PUT', url: `/services/${service}/term`, headers: {}, body: JSON.stringify({ epoch }), signal })
  const change = (by: string, service: string) =>
    rules.mutated({ atMs: now(), by, service, act: 'start lab', machine: 'i-1', worker: 'w-1' })
  return { clock, rules, lead, change, close: store.close }
}

it('a superseded leader of any service changes nothing', async () => {
  const { clock, rules, lead, change, close } = openInvariants()
  await lead('one', 'lablet-controller', 1)
  await lead('two', 'lablet-controller', 2)
  await lead('three', 'worker-controller', 1)
  await clock.advance(MINUTE_MS + 1)
  change('two', 'lablet-controller')
  expect(rules.violations).toEqual([])
  change('one', 'lablet-controller')
  expect(rules.violations).toEqual(['one: start lab of i-1 long after two has taken over'])
  await close()
})
