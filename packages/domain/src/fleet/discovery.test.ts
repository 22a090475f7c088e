import { anAttempt, anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../instant.ts'
import type { Instance } from '../worker/ec2-instance.ts'
import type { Worker } from '../worker/worker.ts'
import { type DiscoveryRules, judgeFound, knownWorkers, labelsOfImport, statusOfImport } from './discovery.ts'

const NOW = Date.parse('2026-01-02T04:00:00Z')
const RULES: DiscoveryRules = {
  fleet: 'lcm',
  tag: { key: 'cml-managed', value: 'true' },
  imageIds: null,
  importEnabled: true,
}
const MARKED = { 'cml-managed': 'true' }
const found = (tags: Record<string, string>, more: Partial<Instance> = {}): Instance => anInstance({ tags, ...more })
const judge = (instance: Instance, workers: readonly Worker[] = [], rules: Partial<DiscoveryRules> = {}) =>
  judgeFound(instance, knownWorkers(workers), { ...RULES, ...rules }, NOW)

describe('a machine without a worker', () => {
  it('is imported when it has the discovery tag and is old enough', () => {
    expect(judge(found(MARKED)).kind).toBe('import')
    expect(judge(found({}))).toMatchObject({ kind: 'ignore', because: { code: 'not_selected_for_import' } })
    const young = found(MARKED, { launched_at: toInstant(NOW - 119_000) })
    expect(judge(young)).toMatchObject({
      kind: 'ignore',
      because: { code: 'instance_too_young', params: { seconds: 120 } },
    })
  })

  it('is filtered by its image when image names are set', () => {
    expect(judge(found(MARKED), [], { imageIds: new Set(['ami-1']) }).kind).toBe('import')
    expect(judge(found(MARKED), [], { imageIds: new Set(['ami-2']) }).kind).toBe('ignore')
    expect(judge(found({}), [], { tag: null, imageIds: new Set(['ami-1']) }).kind).toBe('import')
    expect(judge(found(MARKED), [], { tag: null }).kind, 'without a rule nothing is imported').toBe('ignore')
  })

  it('is ignored when it is terminated, belongs to another fleet, or nothing is imported', () => {
    expect(judge(found(MARKED, { state: 'terminated' }))).toMatchObject({
      kind: 'ignore',
      because: { code: 'instance_ended', params: { state: 'terminated' } },
    })
    expect(judge(found({ ...MARKED, 'lcm:fleet': 'theirs', 'lcm:worker_id': 'w-1' }), [aWorker()])).toMatchObject({
      kind: 'ignore',
      because: { code: 'other_fleet', params: { fleet: 'theirs' } },
    })
    expect(judge(found(MARKED), [], { importEnabled: false })).toMatchObject({
      kind: 'ignore',
      because: { code: 'import_disabled' },
    })
  })
})

describe('a machine of this fleet', () => {
  const ours = found({ ...MARKED, 'lcm:fleet': 'lcm', 'lcm:worker_id': 'w-1' })

  it('wakes the worker that does not have it yet, and is never imported as a second worker', () => {
    expect(judge(ours, [aWorker()])).toMatchObject({ kind: 'wake', workerId: 'w-1' })
    expect(judge(ours, [aWorker({ desired_status: 'STOPPED', launch: anAttempt({ state: 'open' }) })]).kind).toBe(
      'wake',
    )
    expect(judge(ours, [aWorker({ ec2_instance_id: 'i-1' })])).toMatchObject({
      kind: 'ignore',
      because: { code: 'instance_of_worker', params: { worker: 'metal-1' } },
    })
  })

  it.each<[string, readonly Worker[], string, object]>([
    ['no record', [], 'worker_unknown', { worker_id: 'w-1' }],
    ['a record that is TERMINATED', [aWorker({ status: 'TERMINATED' })], 'worker_terminated', { state: 'running' }],
    [
      'a TERMINATED record with its instance id',
      [aWorker({ id: 'w-2', status: 'TERMINATED', ec2_instance_id: 'i-1' })],
      'worker_terminated',
      { worker: 'metal-1' },
    ],
    [
      'a record with another machine',
      [aWorker({ ec2_instance_id: 'i-2' })],
      'worker_has_other_instance',
      { instance_id: 'i-2' },
    ],
    [
      'a record that waits to be started',
      [aWorker({ desired_status: 'STOPPED' })],
      'worker_not_launching',
      { status: 'PENDING' },
    ],
    [
      'a record that failed before it had a machine',
      [aWorker({ status: 'FAILED' })],
      'worker_not_launching',
      { status: 'FAILED' },
    ],
  ])('is an orphan with %s', (_, workers, code, params) => {
    expect(judge(ours, workers)).toMatchObject({ kind: 'orphan', because: { code, params } })
  })

  it('is an orphan when no tag names its worker', () => {
    expect(judge(found({ 'lcm:fleet': 'lcm' }))).toMatchObject({
      kind: 'orphan',
      because: { code: 'worker_unknown', params: { worker_id: null } },
    })
  })
})

it('an imported worker starts with the state of its machine', () => {
  const states = ['pending', 'running', 'stopping', 'stopped'].map(state => statusOfImport(anInstance({ state })))
  expect(states).toEqual(['PROVISIONING', 'STARTING', 'STOPPED', 'STOPPED'])
})

it('an imported worker keeps the location tags of its machine', () => {
  expect(labelsOfImport(found({ 'cml-environment': 'prod', 'cml-region': 'emea', other: 'x' }))).toEqual({
    environment: 'prod',
    logical_region: 'emea',
  })
})
