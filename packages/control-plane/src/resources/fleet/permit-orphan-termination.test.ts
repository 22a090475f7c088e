import { textReason } from '@lcm/domain/reason'
import { beforeEach, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

const HOUR_MS = 3_600_000

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const ask = (n: number, epoch = 1) => {
  const json = {
    ec2_instance_id: `i-000${n}`,
    aws_region: 'us-east-1',
    reason: textReason('no worker w-gone is known'),
  }
  return fleet.fenced('POST', 'fleet/orphan-terminations', json, { epoch })
}
const granted = async (n: number, epoch = 1): Promise<boolean> => (await ask(n, epoch)).json.granted

it('permits two terminations per hour in a small fleet, across leaders', async () => {
  expect([await granted(1), await granted(2)]).toEqual([true, true])
  expect((await ask(3)).json).toMatchObject({
    granted: false,
    because: { code: 'orphan_limit_reached', params: { limit: 2 } },
  })
  expect(await granted(3, 2), 'a new leader').toBe(false)
  expect(await granted(1, 2), 'the same machine').toBe(true)
  await fleet.clock.advance(HOUR_MS + 1_000)
  expect(await granted(3, 2)).toBe(true)
})

it('permits a fifth of a larger fleet', async () => {
  for (let n = 0; n < 15; n += 1) {
    const { id } = await fleet.create()
    await fleet.edit(id, () => ({ ec2_instance_id: `i-1${n}`, status: n === 14 ? 'TERMINATED' : 'RUNNING' }))
  }
  expect([await granted(1), await granted(2), await granted(3)]).toEqual([true, true, false])
  const { id } = await fleet.create()
  await fleet.edit(id, () => ({ ec2_instance_id: 'i-2', status: 'RUNNING' }))
  expect([await granted(3), await granted(4)]).toEqual([true, false])
})

it('is recorded once, with its reason', async () => {
  await ask(1)
  await ask(1)
  const entries = await fleet.journal('audit', 'fleet_scaling:fleet')
  expect(entries.map(({ body }) => body)).toMatchObject([
    {
      action: 'terminate_orphan',
      after: { instance_id: 'i-0001', aws_region: 'us-east-1' },
      reason: 'no worker w-gone is known',
    },
  ])
})

it('refuses a superseded leader', async () => {
  await granted(1, 2)
  expect(await ask(2, 1)).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
})
