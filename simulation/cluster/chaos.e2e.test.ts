import { describe, expect, it } from 'vitest'
import { chaos } from './chaos/chaos.ts'
import { VIOLATIONS } from './chaos/fault-under-load.ts'

const LIMIT_MS = 300_000
const SOUND = Object.fromEntries(VIOLATIONS.map(kind => [kind, []]))

/** `npm run bench -- chaos` does all of the troubles, and each with more sessions. */
const verdictOf = (trouble: string) =>
  chaos({ rounds: 1, sessions: 2, leaseTtlSeconds: 2, only: [trouble], say: () => undefined })

// Both at once, for both of them mostly wait.
describe.concurrent('nothing is lost, done twice or left behind', () => {
  it('while EC2 and CML can not be reached', { timeout: LIMIT_MS }, async () => {
    const { verdicts } = await verdictOf('cloud-cuts')
    expect(verdicts.map(({ wrong }) => wrong)).toEqual([SOUND])
    expect(verdicts[0]?.writes).toBeGreaterThan(0)
  })

  it('when the disk of the store is full, where a disk can be had that may be filled', {
    timeout: LIMIT_MS,
  }, async () => {
    const { verdicts, leftOut } = await verdictOf('disk-full')
    expect(verdicts.map(({ wrong }) => wrong)).toEqual(leftOut.length > 0 ? [] : [SOUND])
    expect(verdicts.length + leftOut.length).toBe(1)
  })
})
