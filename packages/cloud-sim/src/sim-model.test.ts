import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { plantMachines, SIM_COMPUTE_SETUP } from './conformance/compute-and-metrics-fixtures.ts'
import { openSimModel, type SimModel } from './sim-model.ts'
import { openSimState } from './sim-state.ts'
import { memorySimStore, type SimStore, sqliteSimStore } from './sim-store.ts'
import { TELEMETRY } from './state-codec.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

const only = (model: SimModel) => {
  const machine = model.machines()[0]
  if (!machine) throw new Error('there is no machine')
  return machine
}

const readyAfterMs = (model: SimModel) =>
  model.machines().map(({ instance }) => (instance.boot.at(-1)?.from_ms ?? 0) - instance.started_at_ms)

describe('the same seed and the same calls at the same times', () => {
  const history = (seed: number) => {
    const clock = manualClock()
    const model = openSimModel({ seed, clock })
    plantMachines(model, 3, {})
    clock.jumpWallClock(20 * MINUTE)
    const ids = model.machines().map(machine => machine.instance.instance_id)
    model.ec2.stopInstances(SIM_COMPUTE_SETUP.region, { ids, force: false })
    clock.jumpWallClock(5 * MINUTE)
    model.ec2.startInstances(SIM_COMPUTE_SETUP.region, { ids })
    return model.machines()
  }

  it('give the same state', () => {
    expect(history(1)).toEqual(history(1))
  })

  it('give the same state with hostile faults', () => {
    const hostile = (seed: number) => {
      const clock = manualClock()
      const model = openSimModel({ seed, clock, preset: 'hostile' })
      model.plantFleet(4)
      const answers = Array.from({ length: 200 }, (_, n) => {
        clock.jumpWallClock(MINUTE)
        return answerOf(() => plantBy(model, `token-${n % 20}`))
      })
      return { answers, machines: model.machines() }
    }
    const plantBy = (model: SimModel, client_token: string) =>
      model.ec2Api
        .runInstances(SIM_COMPUTE_SETUP.region, {
          image_id: only(model).instance.image_id,
          instance_type: SIM_COMPUTE_SETUP.instance_type,
          subnet_id: SIM_COMPUTE_SETUP.subnet_id,
          client_token,
          count: 1,
          nested_virtualization: false,
          tags: {},
          canonical: '',
        })
        .map(({ instance }) => instance.instance_id)
    const answerOf = (act: () => unknown) => {
      try {
        return act()
      } catch (error) {
        return String(error)
      }
    }
    const first = hostile(1)
    expect(hostile(1)).toEqual(first)
    expect(new Set(first.answers.filter(answer => typeof answer === 'string')).size).toBeGreaterThan(2)
    expect(hostile(2).answers).not.toEqual(first.answers)
  })

  it('give another state with another seed', () => {
    const [a, b] = [history(1)[0], history(2)[0]]
    expect(a?.instance.instance_id).not.toBe(b?.instance.instance_id)
    expect(a?.private_ip).not.toBe(b?.private_ip)
    expect(a?.instance.timeline).not.toEqual(b?.instance.timeline)
  })

  it('give the same state when the model is closed in between', () => {
    const clocks = [manualClock(), manualClock()] as const
    const store = memorySimStore()
    const whole = openSimModel({ seed: 5, clock: clocks[0] })
    plantMachines(whole, 2, {})
    plantMachines(openSimModel({ seed: 5, clock: clocks[1], store }), 2, {})
    for (const clock of clocks) clock.jumpWallClock(MINUTE)
    plantMachines(whole, 1, {})
    const reopened = openSimModel({ seed: 999, clock: clocks[1], store })
    plantMachines(reopened, 1, {})
    expect(reopened.machines()).toEqual(whole.machines())
    expect(reopened.seed).toBe(5)
  })
})

describe('the delays of the cloud', () => {
  it('take a bare-metal machine from launch to ready in eight to twelve minutes', () => {
    const model = openSimModel({ seed: 3, clock: manualClock() })
    plantMachines(model, 200, {})
    const minutes = readyAfterMs(model).map(ms => ms / MINUTE)
    expect(Math.min(...minutes)).toBeGreaterThan(7.5)
    expect(Math.max(...minutes)).toBeLessThan(12.5)
    const mean = minutes.reduce((sum, each) => sum + each, 0) / minutes.length
    expect(mean).toBeCloseTo(10, 0)
  })

  it('scale with the speed', () => {
    const model = openSimModel({ seed: 3, clock: manualClock(), speed: 60 })
    plantMachines(model, 200, {})
    const seconds = readyAfterMs(model).map(ms => ms / SECOND)
    expect(Math.min(...seconds)).toBeGreaterThan(7.5)
    expect(Math.max(...seconds)).toBeLessThan(12.5)
  })
})

describe('the speed', () => {
  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('rejects %s', speed => {
    expect(() => openSimModel({ seed: 1, clock: manualClock(), speed })).toThrow(RangeError)
  })
})

describe('a simulated cloud on disk', () => {
  let folder = ''
  const stores: SimStore[] = []
  const openFile = () => {
    folder ||= mkdtempSync(join(tmpdir(), 'lcm-sim-'))
    const store = sqliteSimStore(join(folder, 'sim.sqlite'))
    stores.push(store)
    return store
  }
  afterEach(() => {
    for (const store of stores.splice(0)) store.close()
    rmSync(folder, { recursive: true, force: true })
    folder = ''
  })
  const closeFile = () => stores.pop()?.close()

  it('has advanced when it is opened later', () => {
    const clock = manualClock()
    const first = openSimModel({ seed: 7, clock, store: openFile() })
    plantMachines(first, 1, { 'lcm:fleet': 'f1' })
    const { instance } = only(first)
    expect(only(first).state).toBe('pending')
    closeFile()
    clock.jumpWallClock(2 * MINUTE)
    const second = openSimModel({ seed: 7, clock, store: openFile() })
    expect(only(second)).toMatchObject({
      state: 'running',
      stage: 'NOTHING',
      instance: { tags: { 'lcm:fleet': 'f1' } },
    })
    expect(only(second).instance.instance_id).toBe(instance.instance_id)
    const certificate = second.cml.identityOf(instance.instance_id)
    second.ec2.stopInstances(instance.region, { ids: [instance.instance_id], force: false })
    closeFile()
    clock.jumpWallClock(10 * MINUTE)
    const third = openSimModel({ seed: 7, clock, store: openFile() })
    expect(only(third)).toMatchObject({ state: 'stopped', public_ip: null })
    expect(third.cml.identityOf(instance.instance_id)).toEqual(certificate)
  })

  it('remembers client tokens and never repeats an id', () => {
    const clock = manualClock()
    const request = {
      image_id: '',
      instance_type: SIM_COMPUTE_SETUP.instance_type,
      subnet_id: SIM_COMPUTE_SETUP.subnet_id,
      client_token: 'token-1',
      count: 1,
      nested_virtualization: false,
      tags: {},
      canonical: 'the same',
    }
    const ids = [1, 2].map(() => {
      const model = openSimModel({ seed: 7, clock, store: openFile() })
      plantMachines(model, 1, {})
      const image_id = only(model).instance.image_id
      const launched = model.ec2.runInstances(SIM_COMPUTE_SETUP.region, { ...request, image_id })
      closeFile()
      clock.jumpWallClock(MINUTE)
      return launched[0]?.instance.instance_id
    })
    expect(ids[0]).toBe(ids[1])
    const model = openSimModel({ seed: 7, clock, store: openFile() })
    expect(new Set(model.machines().map(machine => machine.instance.instance_id)).size).toBe(3)
  })
})

describe('a terminated machine that is no longer shown', () => {
  it('is removed from the store with the next launch', () => {
    const clock = manualClock()
    const store = memorySimStore()
    const model = openSimModel({ seed: 7, clock, store })
    plantMachines(model, 1, {})
    const { instance_id } = only(model).instance
    model.cml.identityOf(instance_id)
    clock.jumpWallClock(2 * MINUTE)
    model.ec2.terminateInstances(SIM_COMPUTE_SETUP.region, { ids: [instance_id] })
    clock.jumpWallClock(120 * MINUTE)
    expect(model.machines()).toEqual([])
    plantMachines(model, 1, {})
    expect(store.load().filter(record => record.key === instance_id)).toEqual([])
  })
})

/** One machine in a simulated cloud that any number of models may open. */
function planted() {
  const clock = manualClock()
  const store = memorySimStore()
  const open = () => openSimState({ seed: 7, speed: 1, store, preset: 'plain', now: () => clock.now() })
  const model = openSimModel({ seed: 7, clock, store })
  plantMachines(model, 1, {})
  const { instance_id } = only(model).instance
  return { clock, store, open, instance_id }
}

describe('records of other packages', () => {
  it('are stored with a commit, and removed with their machine', () => {
    const { clock, store, open, instance_id } = planted()
    const sim = open()
    const changed: string[] = []
    sim.watch(id => changed.push(id))
    const of = (key: string, value: string | null) => ({ kind: 'lab', key, value })
    const records = [of(`${instance_id}/a`, '1'), of(`${instance_id}/b`, '2'), of('other', '3')]
    sim.commit({ records, touched: [instance_id] })
    expect(changed).toEqual([instance_id])
    sim.commit({ records: [of(`${instance_id}/b`, null)] })
    expect(Object.fromEntries(open().stored('lab'))).toEqual({ [`${instance_id}/a`]: '1', other: '3' })
    expect(open().stored('none').size).toBe(0)
    clock.jumpWallClock(MINUTE)
    const later = openSimModel({ seed: 7, clock, store })
    later.ec2.terminateInstances(SIM_COMPUTE_SETUP.region, { ids: [instance_id] })
    clock.jumpWallClock(120 * MINUTE)
    plantMachines(later, 1, {})
    expect(Object.fromEntries(open().stored('lab'))).toEqual({ other: '3' })
  })
})

describe('records that stay on disk', () => {
  it('are read from the store, also after a reopen, and removed with their machine', () => {
    const { clock, store, open, instance_id } = planted()
    const of = (key: string, value: string | null) => ({ kind: TELEMETRY, key, value })
    const sim = open()
    sim.commit({ shelved: [of(`${instance_id}/0`, '[0]'), of(`${instance_id}/1`, '[1]'), of('other/0', '[2]')] })
    sim.commit({ shelved: [of(`${instance_id}/0`, null)] })
    for (const each of [sim, open()]) {
      expect([...each.shelf(TELEMETRY)]).toEqual([`${instance_id}/1`, 'other/0'])
      expect([`${instance_id}/0`, `${instance_id}/1`].map(key => each.read(TELEMETRY, key))).toEqual([null, '[1]'])
      expect(each.stored(TELEMETRY).size).toBe(0)
    }
    const later = openSimModel({ seed: 7, clock, store })
    clock.jumpWallClock(MINUTE)
    later.ec2.terminateInstances(SIM_COMPUTE_SETUP.region, { ids: [instance_id] })
    clock.jumpWallClock(120 * MINUTE)
    plantMachines(later, 1, {})
    expect([...open().shelf(TELEMETRY)]).toEqual(['other/0'])
    expect(store.read(TELEMETRY, `${instance_id}/1`)).toBeNull()
  })
})

describe('a damaged store', () => {
  it.each(['{"half":', '{}', '7'])('is rejected with a clear message when an instance reads %s', value => {
    const store = memorySimStore()
    store.commit([{ kind: 'instance', key: 'i-1', value }])
    expect(() => openSimModel({ seed: 1, clock: manualClock(), store })).toThrow("the stored instance 'i-1' is damaged")
  })
})

describe('a commit that fails', () => {
  it('leaves the state unchanged', () => {
    const store = memorySimStore()
    const full = () => {
      throw new Error('disk full')
    }
    const model = openSimModel({ seed: 7, clock: manualClock(), store: { ...store, commit: full } })
    expect(() => plantMachines(model, 1, {})).toThrow('disk full')
    expect(model.machines()).toEqual([])
  })
})
