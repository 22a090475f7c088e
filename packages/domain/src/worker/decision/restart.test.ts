import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { reason } from '../../reason.ts'
import { bootReached, withBoot } from '../boot-stages.ts'
import { decideWorker } from '../decide.ts'
import { type Observation, WORKER_POLICY } from '../observation.ts'
import type { Worker } from '../worker.ts'
import { labsUp } from './restart.ts'

const NOW = toMs(onMachine().created_at) + 3_600_000
const at = (seconds: number) => toInstant(NOW + seconds * 1000)
const READY = { stage: 'READY', ready_streak: 3, version: '2.9.1', certificate_sha256: null, detail: '' } as const
const SILENT = { ...READY, stage: 'TCP', ready_streak: 0, detail: 'timeout' } as const
/** Ready for ten minutes. */
const serving = withBoot([], bootReached('READY'), NOW - 600_000)

const worker = (more: Partial<Worker> = {}, cml: Partial<Worker['cml']> = {}): Worker => {
  const known = onMachine({ conditions: serving })
  return { ...known, cml: { ...known.cml, ready: true, version: '2.9.1', ...cml }, ...more }
}
const launched = (seconds: number): Partial<Observation> => ({ ec2: anEc2Observation({ launched_at: at(seconds) }) })
function cmlOf(given: Worker, observed: Partial<Observation>): Partial<Worker['cml']> | undefined {
  const { action } = decideWorker(given, anObservation({ ...launched(-3_000), ...observed }), WORKER_POLICY, NOW)
  return action.kind === 'write' ? action.changes.cml : undefined
}

describe('a worker', () => {
  it('records until when it was up, however it stops serving', () => {
    expect(cmlOf(worker(), { cml: SILENT })).toMatchObject({ up_until: at(0) })
    expect(cmlOf(worker({ desired_status: 'STOPPED' }), {})).toMatchObject({ up_until: at(0) })
    for (const state of ['stopping', 'stopped'] as const) {
      const ec2 = anEc2Observation({ state, launched_at: at(-3_000) })
      expect(cmlOf(worker(), { ec2 })).toMatchObject({ up_until: at(0) })
      expect(cmlOf(worker(), { ec2 })).not.toHaveProperty('restarted_at')
    }
  })

  it('was restarted, or may have been, when it serves again', () => {
    const away = worker({ service_status: 'UNAVAILABLE' }, { up_until: at(-60), restarted_at: at(-900) })
    expect(cmlOf(away, { cml: READY })).toMatchObject({ restarted_at: at(0), up_until: at(-60) })
    const started = worker({ status: 'STARTING', service_status: 'STARTING' }, { up_until: at(-60) })
    expect(cmlOf(started, { cml: READY })).toMatchObject({ restarted_at: at(0), up_until: at(-60) })
  })

  it('was not restarted when it serves for the first time', () => {
    const first = worker({ status: 'STARTING', service_status: 'STARTING', conditions: [] })
    expect(cmlOf(first, { cml: READY }) ?? {}).not.toHaveProperty('restarted_at')
  })

  it('of an earlier release that was silent when it was upgraded was up until its CML was not ready', () => {
    const move = { from: 'RUNNING', to: 'STOPPED', at: at(-120), because: reason('not_given') } as const
    const conditions = withBoot(serving, 0, NOW - 120_000)
    const old = worker({ status: 'STARTING', service_status: 'STARTING', state_history: [move], conditions })
    expect(cmlOf(old, { cml: READY })).toMatchObject({ restarted_at: at(0), up_until: at(-120) })
  })

  it('was restarted when EC2 started its machine after its CML was ready', () => {
    expect(cmlOf(worker(), launched(-30))).toEqual({ restarted_at: at(0), up_until: at(-30) })
    expect(cmlOf(worker({}, { restarted_at: at(-10) }), launched(-30)), 'known').toBeUndefined()
    expect(cmlOf(worker(), launched(-700)), 'its first boot').toBeUndefined()
  })

  it('was restarted when labs stopped without a request', () => {
    const because = reason('labs_lost', { labs: 2, running_nodes: 0 })
    const lostLabs = { upUntil: at(-30), because }
    expect(cmlOf(worker(), { lostLabs })).toEqual({ restarted_at: at(0), up_until: at(-30) })
    expect(cmlOf(worker({}, { restarted_at: at(-10) }), { lostLabs }), 'known').toBeUndefined()
  })

  it('was restarted once, also when another clock is ahead', () => {
    const lostLabs = { upUntil: at(600), because: reason('labs_lost', { labs: 2, running_nodes: 0 }) }
    for (const seen of [{ lostLabs }, launched(600)]) {
      expect(cmlOf(worker(), seen)).toEqual({ restarted_at: at(600), up_until: at(600) })
      expect(cmlOf(worker({}, { restarted_at: at(600) }), seen), 'known').toBeUndefined()
    }
  })
})

describe('labs that are up by the telemetry', () => {
  const event = (category: string, lab_id: string, second: number, node_id: string | null = 'n1') => ({
    ...{ category, lab_id, node_id: category.endsWith('_lab') ? null : node_id, at: at(second) },
  })
  it.each([
    ['that booted', [event('boot_node', 'a', 1), event('boot_node', 'b', 2)], 2],
    ['without the node that was stopped', [event('boot_node', 'a', 1), event('stop_node', 'a', 2)], 0],
    [
      'with another node that is up',
      [event('boot_node', 'a', 1), event('boot_node', 'a', 2, 'n2'), event('stop_node', 'a', 3)],
      1,
    ],
    ['without the lab that was stopped', [event('boot_node', 'a', 1), event('stop_lab', 'a', 2)], 0],
    ['that was started again', [event('stop_lab', 'a', 1), event('boot_node', 'a', 2)], 1],
    ['whose node has started', [event('start_node', 'a', 1)], 1],
    ['whose node waits in the queue', [event('queue_node', 'a', 1)], 0],
    ['without events of before', [event('boot_node', 'a', -1)], 0],
    ['without other events', [{ ...event('user_activity', 'a', 1), lab_id: null }], 0],
    ['without an event that has no time', [{ ...event('boot_node', 'a', 1), at: 'soon' }], 0],
  ])('are counted %s', (_, events, labs) => {
    expect(labsUp(events, at(0)).labs).toBe(labs)
  })

  it('have the time of their last start', () => {
    expect(labsUp([event('boot_node', 'a', 3), event('boot_node', 'b', 2)], null)).toEqual({
      labs: 2,
      nodes: 2,
      startedAt: at(3),
    })
  })
})
