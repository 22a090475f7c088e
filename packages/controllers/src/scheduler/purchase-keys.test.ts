import { UnreachableError } from '@lcm/client/client'
import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'
import { aSession, atMinutes } from './testing/scheduling-fixtures.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const LONG = { start: atMinutes(0), end: atMinutes(600) }

let rig: SchedulerRig
let keys: unknown[]
let isLost: boolean

/** Answers to scale-up requests are lost while `isLost`, so the scheduler can't know whether they had an effect. */
beforeEach(async () => {
  rig = await schedulerRig()
  keys = []
  isLost = true
  rig.plane.beforeRequest(({ route, body }) => {
    if (route !== 'scaleUp') return
    keys.push(body.key)
    if (isLost) throw new UnreachableError('no answer came')
  })
  await rig.put(...['s-3', 's-1', 's-2'].map(id => aSession({ id, timeslot: LONG })))
})

const bought = async () => (await rig.plane.all('workers')).filter(({ origin }) => origin === 'SCALE_UP')

describe('D-18: a purchase whose response was lost', () => {
  it('is requested again with the same key, so that it is bought once', async () => {
    rig.begin()
    await rig.runFor(2 * MINUTE_MS)
    expect(keys.length).toBeGreaterThan(1)
    isLost = false
    await rig.runFor(MINUTE_MS)
    expect(new Set(keys).size).toBe(1)
    expect(await bought()).toHaveLength(1)
  })

  it('is requested with the same key by the next leader', async () => {
    rig.begin('one')
    await rig.runFor(10 * SECOND_MS)
    const asked = keys.length
    rig.coordination.faults.crash('one')
    rig.begin('two')
    await rig.runFor(MINUTE_MS)
    expect(keys.length).toBeGreaterThan(asked)
    expect(asked).toBeGreaterThan(0)
    expect(new Set(keys).size).toBe(1)
  })
})

it('other sessions use another key, and the same sessions use a new one only when their workers have started or ended', async () => {
  isLost = false
  rig.begin()
  await rig.runFor(MINUTE_MS)
  const [first] = keys
  for (const worker of await bought()) await rig.putWorker({ ...worker, status: 'FAILED' })
  await rig.runFor(10 * MINUTE_MS)
  expect(await bought()).toHaveLength(2)
  expect(new Set(keys).size).toBe(2)
  for (const worker of await bought()) await rig.putWorker({ ...worker, status: 'FAILED' })
  await rig.put(aSession({ id: 's-4', timeslot: LONG }))
  await rig.runFor(10 * MINUTE_MS)
  expect(keys.at(-1)).not.toBe(first)
  expect(new Set(keys).size).toBe(3)
})
