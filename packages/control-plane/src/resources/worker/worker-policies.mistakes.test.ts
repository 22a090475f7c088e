import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

const HOUR_MS = 3_600_000

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const check = (id: string, last_activity_at: string | null) =>
  fleet.fenced('POST', `workers/${id}/idle-checks`, { evidence: { last_activity_at, running_nodes: 0 } })

describe('the last activity of a worker', () => {
  it('is kept when CML forgets it, also while other fields change', async () => {
    await fleet.send('PATCH', 'settings', { json: { min_workers: 1 } })
    const { id } = await fleet.running()
    const used = toInstant(fleet.clock.now())
    await check(id, used)
    await fleet.clock.advance(2 * HOUR_MS)
    await check(id, null)
    expect((await fleet.get(id)).activity).toMatchObject({ last_activity_at: used, idle_since: used })
  })
})

describe('a purchased worker', () => {
  it('is launched in the requested region, not in the default one', async () => {
    await fleet.send('POST', 'worker-templates', { json: METAL })
    const purchase = { template_name: 'metal', aws_region: 'eu-west-1', count: 1, session_ids: ['ls-1'], key: 'k1' }
    const { status, json } = await fleet.fenced('POST', 'workers/scale-up', purchase, { by: 'resource-scheduler' })
    expect(status).toBe(201)
    expect(json.workers).toMatchObject([{ aws_region: 'eu-west-1' }])
  })

  it('has a unique name, also when several are bought at once', async () => {
    await fleet.send('POST', 'worker-templates', { json: METAL })
    const purchase = { template_name: 'metal', aws_region: 'us-east-1', count: 5, session_ids: ['ls-1'], key: 'k1' }
    const { json } = await fleet.fenced('POST', 'workers/scale-up', purchase, { by: 'resource-scheduler' })
    expect(new Set(json.workers.map(({ name }: { name: string }) => name)).size).toBe(5)
  })
})
