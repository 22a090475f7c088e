import { textReason } from '@lcm/domain/reason'
import { METAL } from '@lcm/testkit/a-control-plane'
import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const preview = async (more: object = {}) => {
  const { id } = await course.define(more)
  return (await course.send('POST', `lablet-definitions/${id}/placement-preview`, { as: 'operator' })).json
}

it('ranks candidates and explains refusals, without placing', async () => {
  const [full, empty] = [await course.serving(), await course.serving()]
  await course.placed(full.id)
  const cordoned = await course.serving({ cordoned: true, name: 'closed' })
  const { id } = (await course.send('GET', 'lablet-definitions')).json.items[0]
  const { json } = await course.send('POST', `lablet-definitions/${id}/placement-preview`)
  expect(json).toMatchObject({
    outcome: 'place',
    candidates: [{ worker_id: full.id }, { worker_id: empty.id, before: { memory: 0 } }],
    refusals: [
      { worker_id: cordoned.id, worker_name: 'closed', category: 'status', because: { code: 'worker_cordoned' } },
    ],
  })
  expect((await course.get(empty.id)).reservations).toEqual({})
})

it('would scale up without workers', async () => {
  await course.send('POST', 'worker-templates', { json: { ...METAL, license_product: 'CML_Enterprise' } })
  expect(await preview()).toMatchObject({ outcome: 'scale_up', candidates: [], refusals: [] })
})

it('would wait for a worker that is starting', async () => {
  await course.create({ license: { product: 'CML_Enterprise' } })
  expect(await preview()).toMatchObject({ outcome: 'wait', because: { code: 'waiting_for_worker' } })
})

it('would resume a stopped worker', async () => {
  const { id } = await course.serving()
  await course.edit(id, worker => ({
    status: 'STOPPED',
    desired_status: 'STOPPED',
    pause: { ...worker.pause, reason: textReason('idle') },
  }))
  expect(await preview()).toMatchObject({ outcome: 'resume' })
})

it('reports needs that no worker can satisfy', async () => {
  const needs = { cpu_cores: 1000, memory_gb: 1, storage_gb: 1, node_count: 1 }
  expect(await preview({ needs })).toMatchObject({ outcome: 'unschedulable' })
  const waiting = { name: 'later', topology: undefined, source: 's3://bucket/lab.zip' }
  expect(await preview(waiting)).toMatchObject({
    outcome: 'unschedulable',
    because: { code: 'topology_not_fetched' },
  })
})

describe('a definition that nothing can run', () => {
  const TOO_NEW = { cml_version: { min: '2.10', max: null } }
  const because = {
    code: 'lab_fits_nowhere',
    params: {
      cause: { code: 'no_template_fits', params: { causes: [{ params: { cause: { code: 'cml_version_too_old' } } }] } },
    },
  }
  /** A fleet of CML 2.9.1, as in the trial. */
  const older = () =>
    course.serving({ cml: { ...aServingWorker().cml, version: '2.9.1', node_definitions: ['iol-xe'] } })
  const read = async (id: string, as: 'admin' | 'user' = 'admin') =>
    (await course.send('GET', `lablet-definitions/${id}`, { as })).json

  it('is created ACTIVE with the reason of the preview, and says so when it is read', async () => {
    await older()
    const made = await course.define(TOO_NEW)
    expect(made).toMatchObject({ status: 'ACTIVE', warnings: [because] })
    const preview = (await course.send('POST', `lablet-definitions/${made.id}/placement-preview`)).json
    expect(preview).toMatchObject({ outcome: 'unschedulable', because: made.warnings[0].params.cause })
    expect((await read(made.id)).warnings).toEqual(made.warnings)
    expect((await read(made.id, 'user')).warnings).toEqual([])
  })

  it('has no warning once the fleet fits', async () => {
    const { id } = await older()
    const made = await course.define(TOO_NEW)
    expect(made.warnings).toHaveLength(1)
    await course.edit(id, ({ cml }) => ({ cml: { ...cml, version: '2.10.0' } }))
    expect((await read(made.id)).warnings).toEqual([])
  })

  it('has no warning for what is only busy, booting or paused now', async () => {
    const { id } = await older()
    await course.edit(id, ({ pause }) => ({
      status: 'STOPPED',
      desired_status: 'STOPPED',
      pause: { ...pause, reason: textReason('idle') },
    }))
    expect((await course.define()).warnings).toEqual([])
  })

  it('is edited with the same answer, and not judged before it is fetched or after it is deprecated', async () => {
    await older()
    const { id } = await course.define()
    const needs = { cpu_cores: 1000, memory_gb: 1, storage_gb: 1, node_count: 1 }
    const next = (await course.send('PUT', `lablet-definitions/${id}`, { json: { needs } })).json
    expect(next).toMatchObject({ definition_version: '1.0.1', warnings: [{ code: 'lab_fits_nowhere' }] })
    const gone = (await course.send('POST', `lablet-definitions/${next.id}/deprecate`, { json: {} })).json
    expect(gone).toMatchObject({ status: 'DEPRECATED', warnings: [] })
    const waiting = { name: 'later', topology: undefined, source: 's3://bucket/lab.zip', ...TOO_NEW }
    expect((await course.define(waiting)).warnings).toEqual([])
  })
})
