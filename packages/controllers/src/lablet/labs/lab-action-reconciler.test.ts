import { CloudError } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import type { LabAction, LabRecord } from '@lcm/domain/lab/lab-record'
import { beforeEach, describe, expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS, never } from '../testing/lab-rig.ts'

const TOPOLOGY = JSON.stringify({
  lab: { version: '0.3.0' },
  nodes: [{ id: 'n0', label: 'X', node_definition: 'alpine', x: 0, y: 0 }],
  links: [],
})
let rig: LabRig
let labId: string

const record = async (): Promise<LabRecord> => {
  const [found] = await rig.records()
  if (found === undefined) throw new Error('there is no record')
  return found
}
const ROUTE = { start: 'startLab', stop: 'stopLab', wipe: 'wipeLab', delete: 'deleteLab' } as const
const ask = async (action: LabAction) =>
  rig.plane.others().call(ROUTE[action], { params: { id: (await record()).id }, body: {} })

beforeEach(async () => {
  rig = await labRig()
  labId = (await rig.labs.import(rig.login(), { title: 'theirs', topology: TOPOLOGY }, never)).lab_id
})

describe('a scan', () => {
  it('records foreign labs, and their deletion', async () => {
    const { controller } = aController(rig, 'one')
    await rig.clock.advance(MINUTE_MS)
    expect(await record()).toMatchObject({ lab_id: labId, title: 'theirs', source: 'DISCOVERY', status: 'DEFINED' })
    expect(controller.stats()).toMatchObject({ labs_scanned_count: 1 })
    await rig.labs.delete(rig.login(), labId, never)
    await rig.clock.advance(29 * MINUTE_MS)
    expect((await record()).status).toBe('DEFINED')
    await rig.clock.advance(3 * MINUTE_MS)
    expect((await record()).status).toBe('ORPHANED')
    expect(controller.stats()).toMatchObject({ labs_scanned_count: 2 })
  })

  it('records the nodes of labs, and reads them again only after a change', async () => {
    let asked = 0
    const nodes: typeof rig.labs.nodes = (...args) => {
      asked += 1
      return rig.labs.nodes(...args)
    }
    aController(rig, 'one', { labs: { ...rig.labs, nodes } })
    await rig.clock.advance(65 * MINUTE_MS)
    expect((await record()).nodes).toEqual([{ label: 'X', node_definition: 'alpine', state: 'DEFINED_ON_CORE' }])
    expect(asked).toBe(1)
    await rig.labs.start(rig.login(), labId, never)
    await rig.clock.advance(35 * MINUTE_MS)
    expect((await record()).nodes).toMatchObject([{ state: 'BOOTED' }])
    expect(asked).toBe(2)
  })

  it("records a lab also when its nodes can't be read", async () => {
    const away = new CloudError('transient', { code: 'HTTP502', action: 'GET /nodes', message: 'bad gateway' })
    aController(rig, 'one', { labs: { ...rig.labs, nodes: () => Promise.reject(away) } })
    await rig.clock.advance(MINUTE_MS)
    expect(await record()).toMatchObject({ title: 'theirs', nodes: [] })
  })

  it('changes no record when it fails', async () => {
    const away = new CloudError('transient', { code: 'HTTP502', action: 'GET /labs', message: 'bad gateway' })
    let isAway = false
    aController(rig, 'one', {
      labs: { ...rig.labs, list: (...args) => (isAway ? Promise.reject(away) : rig.labs.list(...args)) },
    })
    await rig.clock.advance(MINUTE_MS)
    isAway = true
    await rig.labs.delete(rig.login(), labId, never)
    await rig.clock.advance(60 * MINUTE_MS)
    expect((await record()).status).toBe('DEFINED')
  })

  it('follows a refresh request of the worker, also when the worker was refreshed since', async () => {
    const { controller } = aController(rig, 'one')
    await rig.clock.advance(5 * MINUTE_MS)
    await rig.changeWorker({ service_status: 'UNAVAILABLE', labs_refresh_requested_at: toInstant(rig.clock.now()) })
    await rig.clock.advance(2 * MINUTE_MS)
    expect(controller.stats()).toMatchObject({ labs_scanned_count: 1 })
    await rig.changeWorker({ service_status: 'AVAILABLE' })
    await rig.clock.advance(2 * MINUTE_MS)
    expect(controller.stats()).toMatchObject({ labs_scanned_count: 2 })
    expect((await rig.worker()).labs_refresh_requested_at).toBeNull()
    await rig.clock.advance(5 * MINUTE_MS)
    expect(controller.stats()).toMatchObject({ labs_scanned_count: 2 })
  })
})

describe('a lab with the title of a session that is over', () => {
  const importAgain = () => rig.labs.import(rig.login(), { title: 'Two routers ls-1', topology: TOPOLOGY }, never)

  it('is deleted when it can only be a late import of LCM', async () => {
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(5_000)
    await rig.cancel('ls-1')
    await rig.clock.advance(3 * MINUTE_MS)
    expect((await rig.session('ls-1')).status).toBe('TERMINATED')
    await importAgain()
    await rig.clock.advance(35 * MINUTE_MS)
    expect((await rig.labsThere()).map(({ title }) => title)).toEqual(['theirs'])
  })

  it('is kept when a user may have copied it', async () => {
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(10 * MINUTE_MS)
    await importAgain()
    await rig.clock.advance(90 * MINUTE_MS)
    expect((await rig.session('ls-1')).status).toBe('ARCHIVED')
    expect((await rig.labsThere()).map(({ title }) => title)).toEqual(['theirs', 'Two routers ls-1'])
  })
})

describe('a requested lab action', () => {
  it('is performed to its end before the next one', async () => {
    const { controller } = aController(rig, 'one')
    await rig.clock.advance(MINUTE_MS)
    for (const [action, status, state] of [
      ['start', 'BOOTED', 'STARTED'],
      ['stop', 'STOPPED', 'STOPPED'],
      ['wipe', 'WIPED', 'DEFINED_ON_CORE'],
      ['start', 'BOOTED', 'STARTED'],
    ] as const) {
      await ask(action)
      await rig.clock.advance(5 * MINUTE_MS)
      expect(await record()).toMatchObject({ status, pending_action: null, last_error: null })
      expect(await rig.labs.get(rig.login(), labId, never)).toMatchObject({ state })
    }
    await ask('delete')
    await rig.clock.advance(5 * MINUTE_MS)
    expect(await record()).toMatchObject({ status: 'DELETED', pending_action: null })
    expect(await rig.labsThere()).toEqual([])
    expect(controller.stats()).toMatchObject({ actions_done_count: 5, labs_deleted_count: 1 })
  })

  it('keeps the lab counted as running until it is stopped, also before a wipe', async () => {
    const refused = new CloudError('state', { code: 'HTTP400', action: 'PUT stop', message: 'it does not stop' })
    let isStuck = true
    const stop: typeof rig.labs.stop = (...args) => (isStuck ? Promise.reject(refused) : rig.labs.stop(...args))
    aController(rig, 'one', { labs: { ...rig.labs, stop } })
    await rig.clock.advance(MINUTE_MS)
    await ask('start')
    await rig.clock.advance(MINUTE_MS)
    await ask('wipe')
    await rig.clock.advance(MINUTE_MS / 4)
    expect(await record()).toMatchObject({ status: 'STOPPING', pending_action: { action: 'wipe' } })
    isStuck = false
    await rig.clock.advance(5 * MINUTE_MS)
    expect(await record()).toMatchObject({ status: 'WIPED', pending_action: null })
  })

  it('does not count a stopped lab as running during a wipe', async () => {
    const seen = new Set<string>()
    const wipe: typeof rig.labs.wipe = async (...args) => {
      seen.add((await record()).status)
      return rig.labs.wipe(...args)
    }
    aController(rig, 'one', { labs: { ...rig.labs, wipe } })
    await rig.clock.advance(MINUTE_MS)
    for (const action of ['start', 'stop', 'wipe'] as const) {
      await ask(action)
      await rig.clock.advance(5 * MINUTE_MS)
    }
    expect([...seen, (await record()).status]).toEqual(['STOPPED', 'WIPED'])
  })

  it('from before the start of the controller is performed', async () => {
    const first = aController(rig, 'one')
    await rig.clock.advance(MINUTE_MS)
    await first.stop()
    await ask('delete')
    await rig.clock.advance(24 * 60 * MINUTE_MS)
    aController(rig, 'two')
    await rig.clock.advance(5 * MINUTE_MS)
    expect([(await record()).status, await rig.labsThere()]).toEqual(['DELETED', []])
  })

  it('ends with the error after five failures', async () => {
    const refused = new CloudError('invalid', { code: 'HTTP400', action: 'PUT start', message: 'no license' })
    let tries = 0
    const start = async () => {
      tries += 1
      throw refused
    }
    aController(rig, 'one', { labs: { ...rig.labs, start } })
    await rig.clock.advance(MINUTE_MS)
    await ask('start')
    await rig.clock.advance(MINUTE_MS / 4)
    expect(await record()).toMatchObject({
      status: 'STARTING',
      pending_action: { error: 'PUT start: HTTP400: no license' },
    })
    await rig.clock.advance(5 * MINUTE_MS)
    expect([tries, (await record()).pending_action]).toEqual([5, null])
    expect((await record()).last_error).toBe('start: PUT start: HTTP400: no license')
  })

  it('on a lost worker ends: deleted labs count as deleted', async () => {
    const first = aController(rig, 'one')
    await rig.clock.advance(MINUTE_MS)
    await rig.changeWorker({ status: 'TERMINATED' })
    await ask('delete')
    await rig.clock.advance(MINUTE_MS)
    expect(await record()).toMatchObject({ status: 'DELETED', pending_action: null })
    await first.stop()
  })
})
