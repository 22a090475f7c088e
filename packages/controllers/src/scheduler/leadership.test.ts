import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig, workersOf } from './testing/scheduler-rig.ts'
import { aSession } from './testing/scheduling-fixtures.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

let rig: SchedulerRig

/** Calls `then` before the third assignment. That request and all later ones wait for it. */
function atTheThird(then: () => Promise<void> | void): void {
  let asked = 0
  let done: Promise<void> | void
  rig.plane.beforeRequest(async ({ route }) => {
    if (route !== 'assignSession') return
    asked += 1
    if (asked === 3) done = then()
    await done
  })
}

beforeEach(async () => {
  rig = await schedulerRig()
  await rig.putWorker(...workersOf(2))
  await rig.put(...Array.from({ length: 8 }, (_, n) => aSession({ id: `s-${n}` })))
})

const places = async () => (await rig.plane.all('sessions')).map(({ status }) => status)
const ledgers = async () =>
  (await rig.plane.all('workers')).flatMap(({ reservations }) => Object.keys(reservations)).sort()

describe('a leader that loses its term in the middle of a cycle', () => {
  it('sends nothing more, and the next leader completes the cycle', async () => {
    rig.begin('one')
    rig.begin('two')
    atTheThird(() => rig.coordination.faults.loseLease('resource-scheduler'))
    await rig.runFor(MINUTE_MS)
    const epochs = rig.writes().map(({ epoch }) => epoch)
    expect(epochs.filter(epoch => epoch === 1).length).toBeLessThan(8)
    expect(epochs.indexOf(1)).toBe(0)
    expect(epochs.slice(epochs.indexOf(2))).not.toContain(1)
    expect(await places()).toEqual(Array(8).fill('SCHEDULED'))
    expect(await ledgers()).toEqual(Array.from({ length: 8 }, (_, n) => `s-${n}`))
  })

  it('without noticing it is refused by the API, resigns, and buys nothing', async () => {
    const one = rig.begin('one')
    atTheThird(() => rig.plane.registerTerm('resource-scheduler', 2))
    await rig.runFor(SECOND_MS)
    expect(one.stats()).toMatchObject({ assigned_count: 2, cycles_count: 0 })
    expect(rig.coordination.election('resource-scheduler', 'any').status().leader_id).toBeNull()
    await rig.runFor(MINUTE_MS)
    expect(await places()).toEqual(Array(8).fill('SCHEDULED'))
  })
})

describe('a leader that dies after its work', () => {
  it('is followed by a leader that reads from the reservations what was done', async () => {
    rig.begin('one')
    await rig.runFor(0)
    rig.coordination.faults.crash('one')
    rig.begin('two')
    rig.plane.requests.length = 0
    await rig.runFor(5 * MINUTE_MS)
    expect(rig.writes()).toEqual([])
  })
})
