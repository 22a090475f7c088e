import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { openSimModel } from '../sim-model.ts'
import { memorySimStore } from '../sim-store.ts'
import { PRESETS } from './fault-plan.ts'

const open = (store = memorySimStore(), seed = 7) => openSimModel({ seed, clock: manualClock(), store })

describe('the fault plan', () => {
  it('is stored with the simulated cloud', () => {
    const store = memorySimStore()
    const { faults } = open(store)
    faults.patch({ preset: 'hostile', lost_answer_rate: 0.5 })
    faults.setCapacity({ availability_zone: 'us-east-1a', instance_type: 'c5.metal' }, 3)
    faults.script({ action: 'RunInstances', times: 2, fault: 'empty' })
    expect(open(store).faults.state()).toEqual({
      preset: 'hostile',
      plan: { ...PRESETS.hostile, lost_answer_rate: 0.5 },
      scarce: [{ availability_zone: 'us-east-1a', instance_type: 'c5.metal', available: 3 }],
      scripted: [{ action: 'RunInstances', times: 2, fault: 'empty' }],
    })
  })

  it('drops the shortages of a version that did not store what is available', () => {
    const store = memorySimStore()
    const { faults } = open(store)
    const offering = { availability_zone: 'us-east-1a', instance_type: 'c5.metal' }
    faults.setCapacity(offering, 3)
    const older = { ...faults.state(), scarce: [offering] }
    store.commit([{ kind: 'faults', key: 'book', value: JSON.stringify(older) }])
    expect(open(store).faults.state().scarce).toEqual([])
  })

  it('is that of the preset until it is changed', () => {
    const store = memorySimStore()
    const opened = (preset: 'calm' | 'realistic') => openSimModel({ seed: 1, clock: manualClock(), store, preset })
    expect(opened('realistic').faults.plan()).toEqual(PRESETS.realistic)
    expect(opened('calm').faults.plan()).toEqual(PRESETS.calm)
    opened('calm').faults.patch({ vcpu_limit: 96 })
    expect(opened('realistic').faults.plan()).toEqual({ ...PRESETS.calm, vcpu_limit: 96 })
  })

  it.each([
    [{ lost_answer_rate: 1.5 }, 'lost_answer_rate must be a share from 0 to 1'],
    [{ request_limits: 'yes' }, 'request_limits must be true or false'],
    [{ vcpu_limit: 1.5 }, 'vcpu_limit must be a whole number'],
    [{ agent_dimensions: 'host' }, 'agent_dimensions must be one of instance, wizard, none'],
    [{ stale_read_s: -1 }, 'stale_read_s must be seconds'],
    [{ gravity: 2 }, 'there is no fault "gravity"; there are unknown_at_first_s'],
    [{ toString: 2 }, 'there is no fault "toString"'],
    [{ preset: 'angry' }, 'there is no preset "angry"; there are plain, calm, realistic, hostile'],
  ])('rejects %j and stays unchanged', (changes, message) => {
    const { faults } = open()
    expect(() => faults.patch({ preset: 'calm', ...Object(changes) })).toThrow(message)
    expect(faults.state().preset).toBe('plain')
  })

  it('can be reset to its preset', () => {
    const { faults } = open()
    faults.patch({ preset: 'realistic', html_answer_rate: 1 })
    faults.setCapacity({ availability_zone: 'us-east-1a', instance_type: 'c5.metal' }, 0)
    faults.reset()
    expect(faults.state()).toEqual({ preset: 'realistic', plan: PRESETS.realistic, scarce: [], scripted: [] })
  })

  it('injects faults at the given rate, and the same ones with the same seed', () => {
    const struck = (seed: number) => {
      const { faults } = open(memorySimStore(), seed)
      return Array.from({ length: 1000 }, () => faults.strikes(0.2, 'test'))
    }
    const count = struck(7).filter(Boolean).length
    expect(count).toBeGreaterThan(150)
    expect(count).toBeLessThan(250)
    expect(struck(7)).toEqual(struck(7))
    expect(struck(7)).not.toEqual(struck(8))
  })

  it('consumes scripted faults', () => {
    const { faults } = open()
    faults.script({ action: 'StopInstances', times: 2, fault: 'held' })
    const taken = ['RunInstances', 'StopInstances', 'StopInstances', 'StopInstances'].map(faults.takeScripted)
    expect(taken).toEqual([null, 'held', 'held', null])
  })
})

it('has every fault in hostile, and only the limits in calm', () => {
  const { request_limits, agent_dimensions, vcpu_limit, ...hostile } = PRESETS.hostile
  expect(Object.entries(hostile).filter(([, value]) => value === 0)).toEqual([])
  const rates = Object.entries(PRESETS.calm).filter(([name]) => name.endsWith('_rate'))
  expect(rates.filter(([, rate]) => rate !== 0)).toEqual([])
  expect([PRESETS.calm.unknown_at_first_s, PRESETS.calm.request_limits]).toEqual([0, true])
})

describe('a scripted denial', () => {
  const message = 'You are not authorized to perform this operation.'
  const scripted = (code: string, seed = 7) => {
    const { faults } = open(memorySimStore(), seed)
    faults.script({ action: 'RunInstances', times: 3, fault: { code, status: 403, message } })
    return faults
  }
  const texts = (faults: ReturnType<typeof scripted>) =>
    [1, 2, 3].map(() => {
      const fault = faults.takeScripted('RunInstances')
      return typeof fault === 'string' ? fault : fault?.message
    })

  it('ends with another encoded message each time, which depends on the seed only', () => {
    const denied = texts(scripted('UnauthorizedOperation'))
    expect(new Set(denied).size).toBe(3)
    for (const text of denied)
      expect(text).toMatch(/^You are not .* operation\. Encoded authorization failure message: [0-9a-f]{1024}$/)
    expect(texts(scripted('UnauthorizedOperation'))).toEqual(denied)
    expect(texts(scripted('UnauthorizedOperation', 8))).not.toEqual(denied)
  })

  it('changes no later draw', () => {
    const faults = scripted('UnauthorizedOperation')
    texts(faults)
    expect(faults.draw('next')).toBe(scripted('UnauthorizedOperation').draw('next'))
  })

  it('is the only refusal with an encoded message', () => {
    expect(texts(scripted('VcpuLimitExceeded'))).toEqual([message, message, message])
  })
})
