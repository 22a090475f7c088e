import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { portsInTags } from '@lcm/domain/lab/ports'
import { LAB_RESTORED } from '@lcm/domain/save/restore'
import { beforeEach, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { type AController, aController } from '../testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS, never, WORKER } from '../testing/lab-rig.ts'

let rig: LabRig

const refusing = (text: string): Partial<CmlLabs> => ({
  import: async (login, request, signal) => {
    if (!request.topology.includes(text)) return rig.labs.import(login, request, signal)
    throw new CloudError('invalid', { code: 'HTTP400', action: 'import', message: 'Malformed lab YAML' })
  },
})
const withLabs = (more: Partial<CmlLabs> = {}): AController =>
  aController(rig, 'one', { labs: { ...rig.labs, ...more } })
const theSaves = async () => (await rig.plane.others().call('listSaves', { query: {} })).items

/** The lab of a session as CML exports it, which has the configurations that it was imported with. */
async function exported(id: string): Promise<string> {
  const lab = (await rig.labsThere()).find(({ title }) => title.endsWith(id))
  return lab === undefined ? '' : rig.labs.download(rig.login(), lab.lab_id, never)
}

/** A session that ended, with a save after each line that its learner typed. */
async function worked(...lines: readonly string[]): Promise<void> {
  await rig.book('ls-1')
  await rig.clock.advance(3 * MINUTE_MS)
  for (const line of lines) {
    await rig.type('R1', line)
    await rig.clock.advance(MINUTE_MS)
    await rig.plane.others().call('saveSession', { params: { id: 'ls-1' }, body: {} })
    await rig.clock.advance(MINUTE_MS)
  }
}

async function ended(): Promise<void> {
  await rig.cancel()
  await rig.clock.advance(5 * MINUTE_MS)
  expect(await rig.labsThere()).toEqual([])
}

/** A session that was booked from a save. */
async function resumed(restore_from: string | undefined): Promise<void> {
  await rig.book('ls-2')
  await rig.change('ls-2', { restore_from: restore_from ?? '' })
  await rig.clock.advance(4 * MINUTE_MS)
  expect((await rig.session('ls-2')).status).toBe('RUNNING')
}

/** The session is placed again, and its first lab is gone. */
async function moved(): Promise<void> {
  const { reservations, capacity } = await rig.worker()
  const waiting = { pipeline: null, lab_record_id: null, access: [] }
  await rig.change('ls-1', { ...waiting, status: 'PENDING', worker_id: null })
  for (const { lab_id } of await rig.labsThere()) {
    await rig.labs.stop(rig.login(), lab_id, never)
    await rig.clock.advance(10_000)
    await rig.labs.wipe(rig.login(), lab_id, never)
    await rig.clock.advance(10_000)
    await rig.labs.delete(rig.login(), lab_id, never)
  }
  const [record] = await rig.records()
  await rig.plane.edit('labs', record?.id ?? '', { status: 'DELETED', lab_id: null })
  await rig.changeWorker({ reservations, capacity })
  await rig.change('ls-1', { ...waiting, status: 'SCHEDULED', worker_id: WORKER })
  await rig.clock.advance(4 * MINUTE_MS)
}

const conditionOf = async (id: string) => (await rig.session(id)).conditions.find(({ type }) => type === LAB_RESTORED)

beforeEach(async () => {
  rig = await labRig({ timeslotMs: 60 * MINUTE_MS })
})

it('a session that was booked from a save starts with its configurations, and has ports and a title of its own', async () => {
  await rig.changeWorker({ ports: { 'lr-77': { other: 2000 } } })
  withLabs()
  await worked('hostname edge')
  await ended()
  const [save] = await theSaves()
  await resumed(save?.id)
  const { access } = await rig.session('ls-2')
  const lab = await exported('ls-2')
  expect(lab).toContain('hostname edge')
  expect(access).toHaveLength(2)
  const tags = [...lab.matchAll(/serial:\d+/g)].map(([tag]) => tag)
  expect(new Set(portsInTags(tags))).toEqual(new Set(access.map(({ port }) => port)))
  expect(await conditionOf('ls-2')).toMatchObject({
    status: true,
    reason: { code: 'lab_restored', params: { save: save?.id, refused: [] } },
  })
})

it('nodes that were renamed keep their access, those that were removed have none, and those that were added are named', async () => {
  const edited = (text: string): string => {
    const lab = parse(text)
    Object.assign(lab.nodes[0], { label: '1e3' })
    Object.assign(lab.nodes[1], { label: 'R3', tags: ['core'] })
    return stringify(lab)
  }
  withLabs({ download: async (...call) => edited(await rig.labs.download(...call)) })
  await worked('hostname edge')
  await ended()
  await resumed((await theSaves())[0]?.id)
  const { access } = await rig.session('ls-2')
  expect(access.map(({ name, node }) => [name, node])).toEqual([['R1_serial', '1e3']])
  expect((await conditionOf('ls-2'))?.reason).toMatchObject({ code: 'lab_restored', params: { added: ['R3'] } })
})

it('a session that is placed again starts with its own newest work', async () => {
  withLabs()
  await worked('hostname one', 'hostname two')
  await moved()
  expect((await rig.session()).status).toBe('RUNNING')
  expect(await exported('ls-1')).toContain('hostname two')
})

it('a save counts also when a crash left the session without its id', async () => {
  withLabs()
  await worked('hostname one')
  await rig.change('ls-1', { save: { ...(await rig.session()).save, save_id: null } })
  await moved()
  expect(await exported('ls-1')).toContain('hostname one')
})

it('the work of a session that was booked from a save comes before that save', async () => {
  withLabs()
  await worked('hostname one')
  const [save] = await theSaves()
  await rig.change('ls-1', { restore_from: save?.id ?? '' })
  await rig.type('R1', 'hostname two')
  await rig.clock.advance(MINUTE_MS)
  await rig.plane.others().call('saveSession', { params: { id: 'ls-1' }, body: {} })
  await rig.clock.advance(MINUTE_MS)
  await moved()
  expect(await exported('ls-1')).toContain('hostname two')
})

it('a save that CML refuses is passed over for the one before it, and the session says so', async () => {
  withLabs(refusing('hostname two'))
  await worked('hostname one', 'hostname two')
  await moved()
  expect((await rig.session()).status).toBe('RUNNING')
  expect(await exported('ls-1')).toContain('hostname one')
  expect((await conditionOf('ls-1'))?.reason).toMatchObject({
    code: 'lab_restored',
    params: { refused: [{ code: 'save_refused', params: { error: expect.stringContaining('Malformed lab YAML') } }] },
  })
})

it('saves that CML refuses do not fail the class: the lab starts from the definition', async () => {
  withLabs(refusing('hostname'))
  await worked('hostname one')
  await ended()
  await resumed((await theSaves())[0]?.id)
  expect(await exported('ls-2')).not.toContain('hostname')
  expect(await conditionOf('ls-2')).toMatchObject({ status: false, reason: { code: 'lab_not_restored' } })
  expect((await rig.session('ls-2')).last_error).toBeNull()
})

it('a save whose lab can not start does not fail the class: the last attempt starts without it', async () => {
  withLabs({
    async start(login, lab_id, signal) {
      const topology = await rig.labs.download(login, lab_id, signal)
      if (!topology.includes('hostname two')) return rig.labs.start(login, lab_id, signal)
      throw new CloudError('invalid', { code: 'HTTP400', action: 'start', message: 'no image iosv-159-3' })
    },
  })
  await worked('hostname one', 'hostname two')
  await moved()
  await rig.clock.advance(8 * MINUTE_MS)
  expect((await rig.session()).status).toBe('RUNNING')
  expect(await exported('ls-1')).toContain('hostname one')
  expect(await rig.labsThere()).toHaveLength(1)
  expect((await conditionOf('ls-1'))?.reason).toMatchObject({
    code: 'lab_restored',
    params: { refused: [{ code: 'save_refused', params: { error: expect.stringContaining('no image iosv-159-3') } }] },
  })
})

it('saves whose content is lost or that were deleted do not fail the class', async () => {
  withLabs()
  await worked('hostname one')
  await ended()
  await resumed('sv-unknown')
  expect(await conditionOf('ls-2')).toMatchObject({
    status: false,
    reason: { params: { refused: [{ params: { save: 'sv-unknown', error: 'it was deleted' } }] } },
  })
})

it('a lab is not reused for a session that was booked from a save', async () => {
  await rig.define({ lab_reuse: true, saves_enabled: false })
  withLabs()
  await rig.book('ls-1')
  await rig.clock.advance(3 * MINUTE_MS)
  await rig.cancel()
  await rig.clock.advance(5 * MINUTE_MS)
  const [left] = await rig.labsThere()
  await resumed('sv-unknown')
  const [, lab] = await rig.labsThere()
  expect([left?.title, lab?.title]).toEqual(['Two routers ls-1', 'Two routers ls-2'])
})
