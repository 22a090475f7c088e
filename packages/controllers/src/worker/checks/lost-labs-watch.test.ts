import type { CmlActivity, CmlStats } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { type Instant, toInstant } from '@lcm/domain/instant'
import type { LostLabs } from '@lcm/domain/worker/observation'
import { type AControlPlane, aControlPlane } from '@lcm/testkit/a-control-plane'
import { onMachine } from '@lcm/testkit/observation-builders'
import { beforeEach, expect, it } from 'vitest'
import { never } from '../testing/simulated-cloud-and-api.ts'
import { lostLabsWatch } from './lost-labs-watch.ts'

const MINUTE_MS = 60_000
const LOGIN = { url: 'https://cml.invalid', certificate_sha256: null, ...DEFAULT_CML_LOGIN }
const STATS: CmlStats = {
  ...{ cpu_count: null, cpu_utilization: null, memory_utilization: null, disk_utilization: null },
  ...{ memory_total_bytes: null, disk_total_bytes: null, running_nodes: null, running_orphans: null },
}

let plane: AControlPlane
let events: CmlActivity['events'][number][]
let counted: Map<string, number | null>
let asked: number
let found: LostLabs[]
let refusal: CloudError | null
const now = () => toInstant(plane.clock.now())
const pass = (minutes: number) => plane.clock.advance(minutes * MINUTE_MS)

/** One lab per node; its clock is ahead by `aheadMs`. */
function starts(lab_id: string, { category = 'start_node', aheadMs = 0 } = {}): void {
  const at = toInstant(plane.clock.now() + aheadMs)
  events.push({ category, at, user_id: null, lab_id, node_id: `n-${lab_id}` })
}

/** One round of the metrics loop. */
async function counts(running_nodes: number, restarted_at: Instant | null = null): Promise<void> {
  const client = plane.client('worker-controller')
  const activity = async () => {
    asked += 1
    if (refusal !== null) throw refusal
    return { own_user_id: null, is_collected: true, events }
  }
  const watch = lostLabsWatch({
    ...{ client, clock: plane.clock, counted: () => counted, onLost: (_, lost) => void found.push(lost) },
    cml: { activity, stats: async () => ({ ...STATS, running_nodes }) },
  })
  const worker = await plane.get('workers', 'w-1')
  const isJudged = await watch.saw({ ...worker, cml: { ...worker.cml, restarted_at } }, LOGIN, running_nodes, never)
  const sample = { collected_at: now(), nodes_count: isJudged ? running_nodes : null }
  await client.call('reportWorkerMetrics', { params: { id: 'w-1' }, body: sample, signal: never })
}

beforeEach(async () => {
  plane = aControlPlane()
  ;[events, counted, asked, found, refusal] = [[], new Map(), 0, [], null]
  const since = now()
  const reservations = { 'ls-1': { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 2, ...heldFrom(since) } }
  await plane.put('workers', onMachine({ id: 'w-1', reservations, created_at: since, updated_at: since }))
})

it('all nodes that are gone without a request show a restart', async () => {
  for (const lab of ['a', 'b']) starts(lab)
  await pass(1)
  await counts(2)
  const upUntil = now()
  await pass(1)
  await counts(0)
  expect(found).toMatchObject([{ upUntil, because: { code: 'labs_lost', params: { labs: 2, running_nodes: 0 } } }])
})

it.each([
  ['one of several nodes', ['a', 'b'], 1],
  ['the only node', ['a'], 0],
])('%s that a learner shuts down on its console shows no restart', async (_, labs, left) => {
  for (const lab of labs) starts(lab)
  await pass(1)
  await counts(labs.length)
  await pass(1)
  await counts(left)
  expect(found).toEqual([])
})

it('the nodes of one lab that a learner shuts down one after the other show no restart', async () => {
  for (const lab of ['a', 'b', 'c']) starts(lab)
  for (const left of [3, 1, ...Array.from({ length: 12 }, () => 0)]) {
    await pass(1)
    await counts(left)
  }
  expect(found).toEqual([])
})

it('a new leader knows until when nodes ran: a lab that its owner stopped before is no part of the restart', async () => {
  for (const lab of ['a', 'b']) starts(lab)
  await pass(1)
  await counts(2)
  await pass(60)
  starts('b', { category: 'stop_node' })
  await pass(60)
  await counts(1)
  const upUntil = now()
  await pass(10)
  counted.clear()
  await counts(0)
  expect(found).toMatchObject([{ upUntil, because: { params: { labs: 1 } } }])
})

it('a new leader leaves a lab alone that another leader has seen shut down', async () => {
  starts('a')
  await pass(1)
  await counts(1)
  await pass(1)
  await counts(0)
  await pass(1)
  counted.clear()
  await counts(0)
  expect(found).toEqual([])
})

it('a new leader finds the restart that another leader could not judge', async () => {
  for (const lab of ['a', 'b']) starts(lab)
  await pass(1)
  await counts(2)
  await pass(1)
  refusal = new CloudError('transient', { code: 'ETIMEDOUT', action: 'activity', message: 'no answer' })
  await counts(0)
  await pass(1)
  refusal = null
  counted.clear()
  await counts(0)
  expect(found).toHaveLength(1)
})

it('a leader that returns finds a restart after one that another leader found', async () => {
  starts('a')
  await pass(1)
  await counts(1)
  await pass(10)
  const restartedAt = now()
  await pass(1)
  starts('a')
  await pass(10)
  counted.clear()
  await counts(0, restartedAt)
  expect(found.map(({ upUntil }) => upUntil > restartedAt)).toEqual([true])
})

it('a restart is never later than now, whatever the clock of CML says', async () => {
  for (const lab of ['a', 'b']) starts(lab, { aheadMs: 10 * MINUTE_MS })
  await pass(1)
  await counts(0)
  expect(found).toMatchObject([{ upUntil: now() }])
})

it('telemetry that does not answer is asked again', async () => {
  starts('a')
  refusal = new CloudError('transient', { code: '500', action: 'activity', message: 'no answer' })
  await counts(0)
  refusal = null
  await pass(1)
  await counts(0)
  expect(found).toHaveLength(1)
})

it('telemetry, which CML always returns in full, is read every five minutes at most while no node runs', async () => {
  for (let minute = 0; minute < 10; minute += 1) {
    await counts(0)
    await pass(1)
  }
  expect(asked).toBe(2)
})

it('telemetry is read as soon as the nodes that ran are gone', async () => {
  await counts(0)
  for (const lab of ['a', 'b']) starts(lab)
  await pass(1)
  await counts(2)
  await pass(1)
  await counts(0)
  expect([asked, found.length]).toEqual([2, 1])
})
