import { describe, expect, it } from 'vitest'
import { admissionGate, mapConcurrently } from './admission-gate.ts'

const never = () => new AbortController().signal

describe('an admission gate', () => {
  it('admits up to its limit, then in order of arrival', async () => {
    const { enter, isEmpty } = admissionGate(2)
    const leaveFirst = await enter(never())
    const leaveSecond = await enter(never())
    const order: string[] = []
    const entered = async (name: string) => {
      const leave = await enter(never())
      order.push(name)
      return leave
    }
    const third = entered('third')
    const fourth = entered('fourth')
    leaveFirst()
    const leaveThird = await third
    expect(order).toEqual(['third'])
    leaveSecond()
    const leaveFourth = await fourth
    expect(order).toEqual(['third', 'fourth'])
    expect(isEmpty()).toBe(false)
    leaveThird()
    leaveFourth()
    expect(isEmpty()).toBe(true)
  })

  it('drops aborted callers without admitting another one in their place', async () => {
    const { enter, isEmpty } = admissionGate(1)
    const leave = await enter(never())
    const abort = new AbortController()
    const waiting = enter(never(), abort.signal)
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(enter(abort.signal)).rejects.toThrow('enough')
    leave()
    expect(isEmpty()).toBe(true)
  })
})

describe('bounded concurrency', () => {
  it('returns results in order and runs no more than the limit at once', async () => {
    let running = 0
    let most = 0
    const answers = await mapConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async item => {
      running += 1
      most = Math.max(most, running)
      await Promise.resolve()
      running -= 1
      return item * 10
    })
    expect(answers).toEqual([10, 20, 30, 40, 50, 60, 70])
    expect(most).toBe(3)
  })

  it('starts nothing more after a failure', async () => {
    const begun: number[] = []
    const work = async (item: number) => {
      begun.push(item)
      if (item === 1) throw new Error('no')
      await Promise.resolve()
    }
    await expect(mapConcurrently([1, 2, 3, 4, 5], 2, work)).rejects.toThrow('no')
    await Promise.resolve()
    expect(begun).toEqual([1, 2])
  })
})
