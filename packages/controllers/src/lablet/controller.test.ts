import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { reason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS } from './testing/lab-rig.ts'

let rig: LabRig

const statuses = async (id: string) => (await rig.session(id)).state_history.map(({ to }) => to)

beforeEach(async () => {
  rig = await labRig()
})

describe('the life of a session', () => {
  it('goes from SCHEDULED to ARCHIVED with one lab, and leaves nothing behind', async () => {
    const { controller } = aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(10 * MINUTE_MS)
    expect(await rig.session('ls-1')).toMatchObject({ status: 'RUNNING', last_error: null, conditions: [] })
    expect((await rig.session('ls-1')).access).toEqual([
      {
        name: 'R1_serial',
        node: 'R1',
        protocol: 'serial',
        inside: null,
        host: new URL(rig.login().url).hostname,
        port: 2000,
      },
      {
        name: 'R2_serial',
        node: 'R2',
        protocol: 'serial',
        inside: null,
        host: new URL(rig.login().url).hostname,
        port: 2001,
      },
    ])
    const [lab, ...others] = await rig.labsThere()
    expect([lab?.title, lab?.state, others]).toEqual(['Two routers ls-1', 'STARTED', []])
    expect(controller.health()).toEqual({ sessions_managed: 1, labs_managed: 1 })
    await rig.clock.advance(30 * MINUTE_MS)
    expect(await rig.session('ls-1')).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect(await statuses('ls-1')).toEqual(['INSTANTIATING', 'READY', 'RUNNING', 'STOPPING', 'STOPPED', 'ARCHIVED'])
    expect(await rig.labsThere()).toEqual([])
    expect(await rig.worker()).toMatchObject({ reservations: {}, ports: {} })
    expect(controller.stats()).toMatchObject({
      sessions_instantiated_count: 1,
      sessions_ready_count: 1,
      sessions_stopped_count: 1,
      labs_imported_count: 1,
      labs_deleted_count: 1,
    })
  })
})

it('a scan during the deletion of a lab does not report the lab as lost', async () => {
  // A scan in the same millisecond as the record of the deletion would count as older.
  const remove: CmlLabs['delete'] = async (...args) => {
    await rig.clock.sleep(5)
    return rig.labs.delete(...args)
  }
  aController(rig, 'one', { labs: { ...rig.labs, delete: remove } })
  await rig.book('ls-1')
  await rig.clock.advance(10 * MINUTE_MS)
  await rig.cancel('ls-1')
  while ((await rig.labsThere()).length > 0) await rig.clock.advance(50)
  const record = async () => (await rig.records()).find(({ session_id }) => session_id === 'ls-1')
  expect([(await rig.session('ls-1')).status, (await record())?.status]).toEqual(['STOPPING', 'DELETED'])
  await rig.clock.advance(MINUTE_MS)
  expect([(await rig.session('ls-1')).status, (await record())?.status]).toEqual(['TERMINATED', 'DELETED'])
})

describe('the status of a controller', () => {
  it('shows its next actions and when they are due while it leads', async () => {
    const { controller, stop } = aController(rig, 'one')
    const { timeslot } = await rig.book('ls-1', 20 * MINUTE_MS)
    await rig.clock.advance(5_000)
    const due_at = new Date(Date.parse(timeslot.start) - 3 * MINUTE_MS).toISOString()
    const because = reason('lab_start_scheduled')
    expect(controller.plan()).toEqual([{ resource: 'session:ls-1', action: 'wait', because, due_at }])
    await stop()
    expect([controller.plan(), controller.health()]).toEqual([[], { sessions_managed: 0, labs_managed: 0 }])
  })

  it('is empty while another instance leads', async () => {
    aController(rig, 'one')
    await rig.clock.advance(0)
    const { controller } = aController(rig, 'two')
    await rig.book('ls-1')
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await rig.session('ls-1')).status).toBe('RUNNING')
    expect(controller.stats()).toMatchObject({ sessions_instantiated_count: 0, labs_scanned_count: 0 })
  })
})
