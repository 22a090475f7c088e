import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { inLanes, lanesBy } from './in-lanes.ts'

const laneOf = (item: string) => item.charAt(0)

describe('work in lanes', () => {
  it('is in order within a lane, and so many lanes at once', async () => {
    const clock = manualClock()
    const begun: string[] = []
    let [underWay, most] = [0, 0]
    const done = inLanes(lanesBy(['a1', 'b1', 'a2', 'c1', 'b2', 'a3'], laneOf), 2, async item => {
      begun.push(item)
      underWay += 1
      most = Math.max(most, underWay)
      await clock.sleep(10)
      underWay -= 1
    })
    await clock.advance(100)
    await done
    expect(most).toBe(2)
    expect(begun.filter(item => item.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
    expect(begun.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1'])
  })

  it('begins nothing after a failure, and fails only when what was under way has ended', async () => {
    const clock = manualClock()
    const ended: string[] = []
    const outcome = inLanes(lanesBy(['a1', 'b1', 'a2', 'b2', 'c1'], laneOf), 2, async item => {
      await clock.sleep(item === 'a1' ? 10 : 50)
      if (item === 'a1') throw new Error('a1 failed')
      ended.push(item)
    }).catch((error: Error) => `${error.message} after ${ended.join()}`)
    await clock.advance(100)
    expect(await outcome).toBe('a1 failed after b1')
    await clock.advance(1000)
    expect(ended).toEqual(['b1'])
  })
})
