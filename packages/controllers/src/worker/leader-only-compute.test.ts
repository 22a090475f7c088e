import type { Compute } from '@lcm/cloud/compute'
import { CloudError, NotLeadingError } from '@lcm/cloud/errors'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { leaderOnlyCompute } from './leader-only-compute.ts'

const REGION = 'us-east-1'
const UNKNOWN = 'i-00000000000000000'
const never = new AbortController().signal

function open() {
  const clock = manualClock()
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const sent: string[] = []
  const port = simCompute(openSimModel({ seed: 1, clock }))
  const compute: typeof port = {
    ...port,
    power: (region, act, ids, signal) => {
      sent.push(act)
      return port.power(region, act, ids, signal)
    },
  }
  return {
    clock,
    sent,
    ...leaderOnlyCompute({ compute, clock, election: coordination.election('worker-controller', 'one') }),
  }
}

describe('the machines of a leader', () => {
  it('can be changed only while leading, and always be read', async () => {
    const { sent, machines, election } = open()
    await expect(machines.powerOne(REGION, 'stop', UNKNOWN, never)).rejects.toBeInstanceOf(NotLeadingError)
    expect(await machines.describeOne(REGION, UNKNOWN, never)).toBeNull()
    await election.campaign(never)
    await expect(machines.powerOne(REGION, 'stop', UNKNOWN, never)).rejects.toMatchObject({ errorClass: 'not_found' })
    await election.resign()
    await expect(machines.powerOne(REGION, 'terminate', UNKNOWN, never)).rejects.toBeInstanceOf(NotLeadingError)
    expect(sent).toEqual(['stop'])
  })

  it('are not changed by the rest of a batch when leadership is lost between two requests', async () => {
    const clock = manualClock()
    const coordination = localCoordination({ clock, firstEpoch: () => 1 })
    const model = openSimModel({ seed: 1, clock })
    const election = coordination.election('worker-controller', 'one')
    const asked: number[] = []
    const compute: Compute = {
      ...simCompute(model),
      async power(_region, _act, ids) {
        asked.push(ids.length)
        if (asked.length === 2) await election.resign()
        if (ids.length > 1) throw new CloudError('state', { code: 'S', action: 'StopInstances', message: 'not now' })
        return new Map(ids.map(id => [id, 'stopping']))
      },
    }
    const { machines, election: led } = leaderOnlyCompute({ compute, clock, election })
    await led.campaign(never)
    const ids = Array.from({ length: 5 }, (_, n) => `i-0000000000000000${n}`)
    const outcomes = ids.map(id => machines.powerOne(REGION, 'stop', id, never).catch((error: Error) => error.name))
    await clock.advance(60_000)
    expect(await Promise.all(outcomes)).toEqual(['stopping', ...Array.from({ length: 4 }, () => 'NotLeadingError')])
    expect(asked, 'the first alone, then all others together').toEqual([1, 4])
  })

  it('are not changed by a call that waited for the rate limit until leadership was lost', async () => {
    const { clock, sent, machines, election } = open()
    await election.campaign(never)
    const start = () => machines.powerOne(REGION, 'start', UNKNOWN, never).catch((error: unknown) => error)
    for (let n = 0; n < 4; n += 1) await start()
    const before = sent.length
    const waiting = start()
    await clock.advance(100)
    await election.resign()
    await clock.advance(1_000)
    expect(await waiting).toBeInstanceOf(NotLeadingError)
    expect(sent).toHaveLength(before)
  })

  it('are read once for the image of 100 launches', async () => {
    const clock = manualClock()
    const coordination = localCoordination({ clock, firstEpoch: () => 1 })
    const port = simCompute(openSimModel({ seed: 1, clock }))
    let asked = 0
    const compute: Compute = {
      ...port,
      newestImage(...query) {
        asked += 1
        return port.newestImage(...query)
      },
    }
    const election = coordination.election('worker-controller', 'one')
    const { machines } = leaderOnlyCompute({ compute, clock, election })
    const wanted = { name_pattern: 'cml-*', owner: 'self' }
    for (let n = 0; n < 100; n += 1) {
      await machines.newestImage(REGION, wanted, never)
      await clock.advance(1_000)
    }
    expect(asked).toBe(1)
  })
})
