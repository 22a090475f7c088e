import { toMs } from '@lcm/domain/instant'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { bootStages, bootText, otherConditions } from './boot-stages.ts'

const bootedTo = (reached: number) => withBoot([], reached, toMs('2026-01-02T03:04:05.000Z'))

describe('the boot', () => {
  it('has past, current and future stages', () => {
    const stages = bootStages(aWorker({ status: 'STARTING', conditions: bootedTo(2) }))
    expect(stages.map(stage => stage.state)).toEqual(['passed', 'passed', 'now', 'later', 'later', 'later'])
  })

  it('waits since the previous stage was passed', () => {
    const first = withBoot([], 0, 1_000)
    const conditions = withBoot(first, 1, 9_000)
    const [, now] = bootStages(aWorker({ status: 'STARTING', conditions }))
    expect(now).toMatchObject({ state: 'now', since: '1970-01-01T00:00:09.000Z' })
  })

  it('waits since a stage that was passed is lost', () => {
    const conditions = withBoot(withBoot([], 6, 1_000), 4, 9_000)
    const stages = bootStages(aWorker({ status: 'RUNNING', conditions }))
    expect(stages.map(({ state, since }) => [state, since])).toMatchObject([
      ...Array.from({ length: 4 }, () => ['passed', '1970-01-01T00:00:01.000Z']),
      ['now', '1970-01-01T00:00:09.000Z'],
      ['later', expect.anything()],
    ])
  })

  it('names the current stage, even before any condition is known', () => {
    expect(bootText(aWorker({ conditions: bootedTo(1) }))).toBe('waiting for the CML port to open')
    expect(bootText(aWorker({ conditions: [] }))).toBe('waiting for EC2 to report the instance as running')
    expect(bootText(aWorker({ conditions: bootedTo(6) }))).toBe('ready, verifying stability')
  })

  it('waits for nothing while stopping or after a failure', () => {
    for (const status of ['STOPPED', 'FAILED'] as const) {
      const stages = bootStages(aWorker({ status, conditions: bootedTo(1) }))
      expect(stages.map(stage => stage.state)).toEqual(['passed', 'later', 'later', 'later', 'later', 'later'])
    }
  })

  it('ignores other conditions', () => {
    const held = {
      type: 'HeldByIntent',
      status: true,
      reason: { code: 'text', message: '', params: {} },
      since: '2026-01-02T03:04:05.000Z',
    }
    expect(otherConditions(aWorker({ conditions: [...bootedTo(3), held] }))).toEqual([held])
  })
})
