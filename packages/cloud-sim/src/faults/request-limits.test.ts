import { describe, expect, it } from 'vitest'
import { type CallCost, requestLimits } from './request-limits.ts'

const call = (action: string, more: Partial<CallCost> = {}): CallCost => ({
  region: 'us-east-1',
  action,
  resources: 1,
  narrowed: false,
  ...more,
})

function limitsAt() {
  let nowMs = 0
  const limits = requestLimits(() => nowMs)
  const takes = (cost: CallCost): boolean => {
    try {
      limits.take(cost)
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'RequestLimitExceeded', status: 503 })
      return false
    }
  }
  /** Number of such calls that are admitted at once. */
  const burst = (cost: CallCost): number => {
    for (let count = 0; count <= 2000; count++) if (!takes(cost)) return count
    return Number.POSITIVE_INFINITY
  }
  const wait = (seconds: number) => {
    nowMs += seconds * 1000
  }
  return { takes, burst, wait }
}

describe('request limits', () => {
  it.each([
    ['RunInstances', {}, 5, 2],
    ['StartInstances', {}, 5, 2],
    ['StopInstances', {}, 50, 5],
    ['TerminateInstances', {}, 100, 5],
    ['CreateTags', {}, 100, 10],
    ['DeleteTags', {}, 100, 10],
    ['RebootInstances', {}, 50, 5],
    ['ModifyInstanceAttribute', {}, 50, 5],
    ['DescribeInstances', {}, 50, 10],
    ['DescribeInstances', { narrowed: true }, 100, 20],
    ['DescribeInstanceStatus', {}, 50, 10],
    ['DescribeImages', {}, 100, 20],
    ['GetConsoleOutput', {}, 100, 20],
  ])('%s %j has a bucket of %d that gains %d a second', (action, more, size, perSecond) => {
    const { burst, wait } = limitsAt()
    expect(burst(call(action, more))).toBe(size)
    wait(2)
    expect(burst(call(action, more))).toBe(2 * perSecond)
    wait(10_000)
    expect(burst(call(action, more))).toBe(size)
  })

  it.each([
    ['RunInstances', 2],
    ['StartInstances', 2],
    ['StopInstances', 20],
    ['TerminateInstances', 20],
  ])('%s counts machines, too: 1,000 of them and %d more a second', (action, perSecond) => {
    const { takes, wait } = limitsAt()
    expect(takes(call(action, { resources: 990 }))).toBe(true)
    expect(takes(call(action, { resources: 11 }))).toBe(false)
    expect(takes(call(action, { resources: 10 }))).toBe(true)
    wait(5)
    expect(takes(call(action, { resources: 5 * perSecond + 1 }))).toBe(false)
    expect(takes(call(action, { resources: 5 * perSecond }))).toBe(true)
  })

  it("are separate per region and action, and don't refill when the clock goes back", () => {
    const { burst, takes, wait } = limitsAt()
    burst(call('RunInstances'))
    expect(takes(call('RunInstances', { region: 'eu-west-1' }))).toBe(true)
    expect(takes(call('StartInstances'))).toBe(true)
    wait(-60)
    expect(takes(call('RunInstances'))).toBe(false)
  })
})
