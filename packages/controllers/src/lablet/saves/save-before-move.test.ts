import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toMs } from '@lcm/domain/instant'
import { movedAt } from '@lcm/domain/session/session-health'
import { beforeEach, expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS } from '../testing/lab-rig.ts'

const SECOND_MS = 1_000
let rig: LabRig
const move = () =>
  rig.plane.client('operator').call('moveSession', { params: { id: 'ls-1' }, body: { reason: 'slow' } })
const saves = async () => (await rig.plane.others().call('listSaves', { query: {} })).items
const silent = () => new CloudError('transient', { code: 'ETIMEDOUT', action: 'download', message: 'no answer' })
const unsaved = async () => (await rig.session()).waiting_reason?.params.unsaved ?? null

async function running(labs: Partial<CmlLabs> = {}): Promise<void> {
  aController(rig, 'one', { labs: { ...rig.labs, ...labs } })
  await rig.book('ls-1')
  await rig.clock.advance(3 * MINUTE_MS)
  expect((await rig.session()).status).toBe('RUNNING')
}

beforeEach(async () => {
  rig = await labRig()
})

it('a session that a person moves leaves after a save of what was typed last, and its lab is removed after that', async () => {
  await running()
  await rig.type('R1', 'hostname last')
  const asked = await move()
  expect(asked).toMatchObject({
    status: 'RUNNING',
    worker_id: 'w-1',
    health: { status: 'OK' },
    move: { reason: 'slow' },
  })
  await expect(move()).rejects.toThrow('already moves')
  await rig.clock.advance(30 * SECOND_MS)
  const moved = await rig.session()
  expect(moved).toMatchObject({ status: 'PENDING', worker_id: null, move: null, save: { requested_at: null } })
  expect(moved.waiting_reason).toMatchObject({ code: 'session_moved_by', params: { worker_id: 'w-1', unsaved: null } })
  const [save, ...others] = await saves()
  expect([save?.nodes.map(({ outcome }) => outcome), others]).toEqual([['saved', 'saved'], []])
  const call = { params: { id: save?.id ?? '' } }
  expect((await rig.plane.client('lablet-controller').call('getSaveTopology', call)).topology).toContain(
    'hostname last',
  )
  await rig.clock.advance(5 * MINUTE_MS)
  expect(await rig.labsThere()).toEqual([])
})

it('a session that a person moves leaves within a minute although its save never ends, and says so', async () => {
  const never: CmlLabs['download'] = (_, __, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(silent())))
  await running({ download: never })
  const { move: asked } = await move()
  await rig.clock.advance(2 * MINUTE_MS)
  const left = movedAt(await rig.session())
  expect(toMs(left ?? '') - toMs(asked?.requested_at ?? '')).toBeLessThanOrEqual(65 * SECOND_MS)
  expect([await unsaved(), await saves()]).toMatchObject([{ code: 'save_out_of_time' }, []])
})

it('a session that a person moves leaves at once when its save fails, with the newest save', async () => {
  let isSilent = false
  await running({ download: (...call) => (isSilent ? Promise.reject(silent()) : rig.labs.download(...call)) })
  await rig.clock.advance(10 * MINUTE_MS)
  const [before] = await saves()
  isSilent = true
  await move()
  await rig.clock.advance(20 * SECOND_MS)
  expect(await rig.session()).toMatchObject({ status: 'PENDING', save: { save_id: before?.id } })
  expect(await unsaved()).toMatchObject({ code: 'save_failed', params: { error: 'no answer' } })
})

it('a save that takes long makes way for the one before a move', async () => {
  let isSlow = true
  await running({
    async extractConfiguration(login, node, signal) {
      if (isSlow) await rig.clock.sleep(5 * MINUTE_MS, signal)
      await rig.labs.extractConfiguration(login, node, signal)
    },
  })
  await rig.plane.others().call('saveSession', { params: { id: 'ls-1' }, body: {} })
  await rig.clock.advance(30 * SECOND_MS)
  isSlow = false
  await move()
  await rig.clock.advance(30 * SECOND_MS)
  expect([(await rig.session()).status, await unsaved(), (await saves()).length]).toEqual(['PENDING', null, 1])
})

it('a session that is canceled while it moves ends with its final save', async () => {
  await running()
  await move()
  await rig.cancel()
  await rig.clock.advance(5 * MINUTE_MS)
  expect(await rig.session()).toMatchObject({ status: 'TERMINATED' })
  expect(await saves()).toMatchObject([{ is_final: true }])
})

it('the next leader moves a session whose save was interrupted', async () => {
  await running()
  await rig.type('R1', 'hostname last')
  await move()
  await rig.clock.advance(SECOND_MS)
  rig.coordination.faults.crash('one')
  aController(rig, 'two')
  await rig.clock.advance(2 * MINUTE_MS)
  expect((await rig.session()).state_history.at(-1)).toMatchObject({
    to: 'PENDING',
    because: { code: 'session_moved_by' },
  })
})
