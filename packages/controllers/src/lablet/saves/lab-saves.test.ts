import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toMs } from '@lcm/domain/instant'
import type { Save } from '@lcm/domain/save/save'
import { beforeEach, describe, expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS, never } from '../testing/lab-rig.ts'

let rig: LabRig

const SECOND_MS = 1_000
const saves = async (): Promise<readonly Save[]> =>
  (await rig.plane.others().call('listSaves', { query: {} })).items.toSorted((a, b) => a.number - b.number)
const contentOf = async ({ id }: Save): Promise<string> =>
  (await rig.plane.client('lablet-controller').call('getSaveTopology', { params: { id } })).topology
const newest = async (): Promise<string> => {
  const save = (await saves()).at(-1)
  return save === undefined ? '' : contentOf(save)
}
const requestSave = () => rig.plane.others().call('saveSession', { params: { id: 'ls-1' }, body: {} })
const withLabs = (more: Partial<CmlLabs>) => aController(rig, 'one', { labs: { ...rig.labs, ...more } })
const refused = () => new CloudError('invalid', { code: 'HTTP400', action: 'extract', message: 'has no configuration' })
const silent = () => new CloudError('transient', { code: 'ETIMEDOUT', action: 'download', message: 'no answer' })

/** A session that is RUNNING. */
async function running(minutes = 3): Promise<void> {
  await rig.book('ls-1')
  await rig.clock.advance(minutes * MINUTE_MS)
  expect((await rig.session()).status).toBe('RUNNING')
}

/** What CML shows of the lab and its nodes. */
async function labState() {
  const [lab] = await rig.labsThere()
  const nodes = await rig.labs.nodes(rig.login(), lab?.lab_id ?? '', never)
  return [lab?.lab_id, lab?.state, ...nodes.map(({ label, state, tags }) => [label, state, tags])]
}

beforeEach(async () => {
  rig = await labRig()
})

describe('the lab of a running session', () => {
  it('is saved at an interval, with what was typed on its nodes, and goes on as it was', async () => {
    aController(rig, 'one')
    await running()
    const before = await labState()
    await rig.type('R1', 'hostname edge')
    await rig.clock.advance(11 * MINUTE_MS)
    expect(await saves()).toMatchObject([
      {
        ...{ session_id: 'ls-1', number: 1, cause: 'interval', is_final: false },
        nodes: [
          { label: 'R1', outcome: 'saved', reason: null },
          { label: 'R2', outcome: 'saved', reason: null },
        ],
      },
    ])
    expect(await newest()).toContain('hostname edge')
    expect(await labState()).toEqual(before)
    expect((await rig.session()).save).toMatchObject({ outcome: { code: 'lab_saved' } })
  })

  it('is saved again only when something has changed', async () => {
    aController(rig, 'one')
    await running(15)
    const [{ save }, { version }] = [await rig.session(), await rig.session()]
    await rig.clock.advance(10 * MINUTE_MS)
    expect(await saves()).toHaveLength(1)
    const later = await rig.session()
    expect(toMs(later.save.tried_at ?? '') - toMs(save.tried_at ?? '')).toBeGreaterThanOrEqual(10 * MINUTE_MS)
    expect([later.save.outcome?.code, later.version]).toEqual(['save_unchanged', version + 1])
  })

  it('is saved at once when its owner requests it', async () => {
    aController(rig, 'one')
    await running()
    await rig.type('R2', 'ip routing')
    await rig.clock.advance(10 * SECOND_MS)
    await requestSave()
    await rig.clock.advance(30 * SECOND_MS)
    expect(await saves()).toMatchObject([{ cause: 'request' }])
    expect(await newest()).toContain('ip routing')
    expect((await rig.session()).save).toMatchObject({ requested_at: null, outcome: { code: 'lab_saved' } })
  })

  it('is not saved when its definition has saves off', async () => {
    await rig.define({ saves_enabled: false })
    aController(rig, 'one')
    await running(29)
    await rig.clock.advance(10 * MINUTE_MS)
    expect([(await rig.session()).status, await saves()]).toEqual(['ARCHIVED', []])
  })

  it('is saved on request only once it runs again', async () => {
    aController(rig, 'one')
    await running()
    await rig.labs.stop(rig.login(), (await rig.labsThere())[0]?.lab_id ?? '', never)
    await requestSave()
    await rig.clock.advance(5 * MINUTE_MS)
    expect(await saves()).toEqual([])
    await rig.plane.others().call('retrySession', { params: { id: 'ls-1' }, body: {} })
    await rig.clock.advance(5 * MINUTE_MS)
    expect(await saves()).toMatchObject([{ cause: 'request' }])
  })
})

describe('a node', () => {
  it('whose console is in use is skipped, and keeps the configuration that was saved before', async () => {
    aController(rig, 'one')
    await running()
    await rig.type('R1', 'hostname one')
    await rig.clock.advance(10 * SECOND_MS)
    await requestSave()
    await rig.clock.advance(30 * SECOND_MS)
    await requestSave()
    await rig.clock.advance(1 * SECOND_MS)
    await rig.type('R1', 'hostname two')
    await rig.clock.advance(30 * SECOND_MS)
    expect(await saves()).toMatchObject([
      {
        nodes: [
          { label: 'R1', outcome: 'skipped', reason: { code: 'console_in_use' } },
          { label: 'R2', outcome: 'saved' },
        ],
      },
    ])
    expect((await rig.session()).save.outcome).toMatchObject({ code: 'lab_saved', params: { skipped: 1 } })
    expect(await newest()).toContain('hostname one')
  })

  it('that CML refuses to extract is skipped, and the others are saved', async () => {
    const labs = rig.labs
    let first: string | null = null
    withLabs({
      async extractConfiguration(login, node, signal) {
        first ??= node.node_id
        if (node.node_id === first) throw refused()
        await labs.extractConfiguration(login, node, signal)
      },
    })
    await running(12)
    const [save] = await saves()
    expect(save?.nodes.filter(({ outcome }) => outcome === 'saved')).toHaveLength(1)
    expect(save?.nodes.find(({ outcome }) => outcome === 'skipped')?.reason).toMatchObject({
      code: 'extraction_failed',
      params: { error: 'has no configuration' },
    })
  })

  it('that is stopped is skipped', async () => {
    let isStopped = false
    withLabs({
      nodes: async (...call) =>
        (await rig.labs.nodes(...call)).map(node =>
          isStopped && node.label === 'R2' ? { ...node, state: 'STOPPED' } : node,
        ),
    })
    await running()
    isStopped = true
    await rig.clock.advance(12 * MINUTE_MS)
    const [save] = await saves()
    expect(save?.nodes).toMatchObject([
      { label: 'R1', outcome: 'saved' },
      { label: 'R2', outcome: 'skipped', reason: { code: 'node_not_booted' } },
    ])
  })
})

describe('an attempt that fails', () => {
  it('is recorded, leaves the earlier saves, and is repeated after the interval', async () => {
    let downloads = 0
    let isSilent = false
    withLabs({
      async download(...call) {
        downloads += 1
        if (isSilent) throw silent()
        return rig.labs.download(...call)
      },
    })
    await running(12)
    isSilent = true
    await rig.clock.advance(10 * MINUTE_MS)
    expect(downloads).toBe(2)
    expect((await rig.session()).save).toMatchObject({
      outcome: { code: 'save_failed', params: { error: 'no answer' } },
      save_id: (await saves())[0]?.id,
    })
    isSilent = false
    await requestSave()
    await rig.clock.advance(30 * SECOND_MS)
    expect((await rig.session()).save.outcome?.code).toBe('save_unchanged')
  })

  it('ends its other extractions too, so that no two attempts save one lab', async () => {
    let [extractions, isAborted] = [0, false]
    withLabs({
      extractConfiguration: (_login, _node, signal) => {
        extractions += 1
        if (extractions === 1) return Promise.reject(new TypeError('a defect'))
        return new Promise<never>((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            isAborted = true
            reject(silent())
          }),
        )
      },
    })
    await running()
    await requestSave()
    await rig.clock.advance(30 * SECOND_MS)
    expect([extractions, isAborted]).toEqual([2, true])
  })

  it('because the lab is too large is not repeated every minute', async () => {
    let downloads = 0
    withLabs({
      async download() {
        downloads += 1
        return 'x'.repeat(17 * 1024 * 1024)
      },
    })
    await running(15)
    expect(downloads).toBe(1)
    expect((await rig.session()).save.outcome).toMatchObject({ code: 'save_too_large', params: { size_bytes: null } })
  })
})

describe('an attempt that the API refuses', () => {
  it('is recorded, and is not repeated before the interval has passed', async () => {
    let downloads = 0
    withLabs({
      nodes: async (...call) => (await rig.labs.nodes(...call)).map(node => ({ ...node, label: 'R'.repeat(129) })),
      async download(...call) {
        downloads += 1
        return rig.labs.download(...call)
      },
    })
    await running(15)
    expect(downloads).toBe(1)
    expect((await rig.session()).save.outcome).toMatchObject({ code: 'save_failed' })
  })
})

describe('the end of a session', () => {
  it('saves what was typed last, whether or not the console is in use, before the lab is stopped', async () => {
    aController(rig, 'one')
    await running(29)
    await rig.clock.advance(58 * SECOND_MS)
    await rig.type('R1', 'hostname last')
    await rig.clock.advance(10 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect((await saves()).at(-1)).toMatchObject({
      is_final: true,
      nodes: [{ outcome: 'saved' }, { outcome: 'saved' }],
    })
    expect(await newest()).toContain('hostname last')
    expect(await rig.labsThere()).toEqual([])
  })

  it('saves a session that is canceled', async () => {
    aController(rig, 'one')
    await running()
    await rig.type('R1', 'hostname canceled')
    await rig.cancel()
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await rig.session()).status).toBe('TERMINATED')
    expect(await newest()).toContain('hostname canceled')
  })

  it('saves no lab that never came up', async () => {
    rig.faults({ never_boot: ['R2'] })
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(2 * MINUTE_MS)
    expect((await rig.session()).status).toBe('INSTANTIATING')
    await rig.cancel()
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await rig.session()).status).toBe('TERMINATED')
    expect(await saves()).toEqual([])
  })

  it.each(['an extraction', 'a download'])('waits a minute at most for %s that never ends', async what => {
    const never = (_: unknown, __: unknown, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(silent())))
    withLabs(what === 'a download' ? { download: never } : { extractConfiguration: never })
    await running()
    await rig.cancel()
    await rig.clock.advance(3 * MINUTE_MS)
    const session = await rig.session()
    expect(session.status).toBe('TERMINATED')
    const { started_at, ended_at } = session.pipeline?.steps.save ?? {}
    expect(toMs(ended_at ?? '') - toMs(started_at ?? '')).toBeLessThanOrEqual(65 * SECOND_MS)
    expect(await rig.labsThere()).toEqual([])
    const stored =
      what === 'a download' ? [] : [{ is_final: true, nodes: [{ reason: { code: 'save_out_of_time' } }, {}] }]
    expect(await saves()).toMatchObject(stored)
  })

  it('does not wait for a CML that is not available', async () => {
    aController(rig, 'one')
    await running()
    await rig.changeWorker({ service_status: 'UNAVAILABLE' })
    await rig.cancel()
    await rig.clock.advance(30 * SECOND_MS)
    expect((await rig.session()).pipeline?.steps).toMatchObject({ save: { status: 'skipped' } })
    expect(await saves()).toEqual([])
  })
})

async function defineOneNode(): Promise<void> {
  const lab = { version: '0.3.0', title: 'one' }
  const nodes = [{ id: 'n0', label: 'R1', node_definition: 'alpine', x: 0, y: 0 }]
  await rig.define({ topology: JSON.stringify({ lab, nodes, links: [] }), port_template: [] })
}
const extractsIn = (ms: number) =>
  withLabs({
    async extractConfiguration(login, node, signal) {
      await rig.clock.sleep(ms, signal)
      await rig.labs.extractConfiguration(login, node, signal)
    },
  })

describe('many sessions that end at the same time', () => {
  it('on several workers are all saved, since no worker waits for another', async () => {
    rig = await labRig({ timeslotMs: 4 * MINUTE_MS })
    await defineOneNode()
    extractsIn(40 * SECOND_MS)
    rig.faults({ node_quota: 20 })
    const worker = await rig.worker()
    const workers = Array.from({ length: 6 }, (_, n) => ({
      ...{ ...worker, id: `w-${n + 10}`, name: `w${n + 10}`, ec2_instance_id: `i-${n}` },
    }))
    await rig.plane.put('workers', ...workers)
    for (const [n, { id }] of workers.entries()) for (const half of ['a', 'b']) await rig.book(`ls-${n}${half}`, 0, id)
    await rig.clock.advance(6 * MINUTE_MS)
    const final = (await saves()).filter(({ is_final }) => is_final)
    expect(final.map(({ nodes: [node] }) => node?.outcome)).toEqual(Array.from({ length: 12 }, () => 'saved'))
  })
})

describe('many sessions on one worker', () => {
  const ids = Array.from({ length: 5 }, (_, n) => `ls-${n + 1}`)
  const running = async () => {
    await defineOneNode()
    for (const id of ids) await rig.book(id)
    await rig.clock.advance(5 * MINUTE_MS)
  }
  const requestAll = async () => {
    for (const id of ids) await rig.plane.others().call('saveSession', { params: { id }, body: {} })
  }

  it('are saved three at a time', async () => {
    let [busy, busiest] = [0, 0]
    withLabs({
      async download(...call) {
        busy += 1
        busiest = Math.max(busiest, busy)
        await rig.clock.sleep(2 * SECOND_MS)
        busy -= 1
        return rig.labs.download(...call)
      },
    })
    await running()
    await requestAll()
    await rig.clock.advance(2 * MINUTE_MS)
    expect(new Set((await saves()).map(({ session_id }) => session_id))).toEqual(new Set(ids))
    expect(busiest).toBe(3)
  })

  it('are all saved when they end together', async () => {
    extractsIn(15 * SECOND_MS)
    rig.faults({ node_quota: 20 })
    await defineOneNode()
    const group = Array.from({ length: 20 }, (_, n) => `ls-${n + 1}`)
    for (const id of group) await rig.book(id)
    await rig.clock.advance(6 * MINUTE_MS)
    for (const id of group) await rig.cancel(id)
    await rig.clock.advance(2 * MINUTE_MS)
    const final = (await saves()).filter(({ is_final }) => is_final)
    expect(final.map(({ nodes: [node] }) => node?.outcome)).toEqual(group.map(() => 'saved'))
  })

  it('do not keep one that ends from being saved, however long the saves of the others take', async () => {
    withLabs({
      async download(...call) {
        await rig.clock.sleep(isEnding ? 0 : 10 * MINUTE_MS)
        return rig.labs.download(...call)
      },
    })
    let isEnding = false
    await running()
    await requestAll()
    await rig.clock.advance(MINUTE_MS)
    isEnding = true
    await rig.cancel('ls-5')
    await rig.clock.advance(2 * MINUTE_MS)
    expect(await saves()).toMatchObject([{ session_id: 'ls-5', is_final: true }])
  })
})
