import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import { beforeEach, describe, expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS } from './testing/lab-rig.ts'

const SLOW = 30
const SILENT_MS = 5 * MINUTE_MS

const isEnded = async ({ session }: LabRig, id: string) =>
  ['STOPPING', 'TERMINATED'].includes((await session(id)).status)

/** All servers except that of the rig accept a connection and send nothing until the caller gives up. */
function withSilentServers({ labs, clock, login }: LabRig): CmlLabs {
  const { url } = login()
  const silent = async (action: string): Promise<never> => {
    await clock.sleep(SILENT_MS)
    throw new CloudError('transient', { code: 'TimeoutError', action, message: 'no answer' })
  }
  const unlessSilent =
    <Asked extends unknown[], Answer>(action: string, call: (login: CmlLogin, ...asked: Asked) => Promise<Answer>) =>
    (to: CmlLogin, ...asked: Asked): Promise<Answer> =>
      to.url === url ? call(to, ...asked) : silent(action)
  return {
    ...labs,
    list: unlessSilent('list', labs.list),
    get: unlessSilent('get', labs.get),
    nodes: unlessSilent('nodes', labs.nodes),
    import: unlessSilent('import', labs.import),
  }
}

it('thirty CML servers that answer nothing delay no session on another server', async () => {
  const rig = await labRig()
  for (let n = 0; n < SLOW; n += 1) {
    const id = `w-slow-${n}`
    const mine = { id, ec2_instance_id: `i-slow-${n}`, https_endpoint: `https://127.66.0.${n + 1}` }
    await rig.plane.put('workers', { ...(await rig.worker()), ...mine })
    await rig.book(`ls-slow-${n}`, 0, id)
  }
  aController(rig, 'one', { labs: withSilentServers(rig) })
  await rig.clock.advance(10_000)
  await rig.book('ls-quick')
  await rig.clock.advance(4 * MINUTE_MS)
  expect((await rig.session('ls-slow-0')).status).toBe('INSTANTIATING')
  expect((await rig.session('ls-quick')).status).toBe('RUNNING')
})

describe('a session that its owner cancels while CML does not answer', () => {
  /** The server of the rig stops answering on request. */
  function fallingSilent({ labs, clock }: LabRig) {
    const state = { isSilent: false }
    const unlessSilent =
      <Asked extends unknown[], Answer>(call: (...asked: Asked) => Promise<Answer>) =>
      async (...asked: Asked): Promise<Answer> => {
        if (state.isSilent) await clock.sleep(SILENT_MS)
        return call(...asked)
      }
    const slow = { list: unlessSilent(labs.list), get: unlessSilent(labs.get), import: unlessSilent(labs.import) }
    return { state, labs: { ...labs, ...slow } }
  }
  it("begins to end at once although its lab can't be read", async () => {
    const rig = await labRig()
    const { state, labs } = fallingSilent(rig)
    aController(rig, 'one', { labs })
    await rig.book('ls-up')
    await rig.clock.advance(4 * MINUTE_MS)
    expect((await rig.session('ls-up')).status).toBe('RUNNING')
    state.isSilent = true
    await rig.cancel('ls-up')
    await rig.clock.advance(1_000)
    expect(await isEnded(rig, 'ls-up')).toBe(true)
  })

  it('begins to end at once although other sessions use all slots of its CML', async () => {
    const rig = await labRig()
    const { state, labs } = fallingSilent(rig)
    state.isSilent = true
    aController(rig, 'one', { labs })
    const ids = Array.from({ length: 8 }, (_, n) => `ls-${n}`)
    for (const id of ids) await rig.book(id)
    await rig.clock.advance(10_000)
    const sessions = await Promise.all(ids.map(id => rig.session(id)))
    const [waiting] = sessions.flatMap(({ id, status }) => (status === 'SCHEDULED' ? [id] : []))
    if (waiting === undefined) throw new Error('every session has a slot')
    await rig.cancel(waiting)
    await rig.clock.advance(1_000)
    expect(await isEnded(rig, waiting)).toBe(true)
  })
})

describe('a CML that serves', () => {
  let rig: LabRig
  let answers: 'labs' | 'errors' | 'no labs'
  beforeEach(async () => {
    rig = await labRig({ timeslotMs: 60 * MINUTE_MS })
    answers = 'labs'
    const { labs } = rig
    const failing = (action: string) =>
      Promise.reject(new CloudError('transient', { code: '500', action, message: 'internal server error' }))
    const get: CmlLabs['get'] = (...asked) => {
      const gone = new CloudError('not_found', { code: '404', action: 'get', message: 'no such lab' })
      if (answers === 'errors') return failing('get')
      return answers === 'labs' ? labs.get(...asked) : Promise.reject(gone)
    }
    const list: CmlLabs['list'] = (...asked) => {
      if (answers === 'errors') return failing('list')
      return answers === 'labs' ? labs.list(...asked) : Promise.resolve([])
    }
    aController(rig, 'one', { labs: { ...labs, get, list } })
    await rig.book('ls-1')
    await rig.clock.advance(2 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' } })
  })

  it('and fails for a moment changes nothing', async () => {
    const { version } = await rig.session()
    answers = 'errors'
    await rig.clock.advance(15_000)
    answers = 'labs'
    await rig.clock.advance(3 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ version, status: 'RUNNING', health: { status: 'OK' } })
  })

  it('and lists no labs for a moment ends no session', async () => {
    answers = 'no labs'
    const isKnown = async () => (await rig.session()).health.status === 'DEGRADED'
    while (!(await isKnown())) await rig.clock.advance(1_000)
    await rig.clock.advance(30_000)
    answers = 'labs'
    await rig.clock.advance(30_000)
    expect(await rig.session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' } })
  })

  it('and fails on its labs degrades their sessions, and ends none', async () => {
    answers = 'errors'
    await rig.clock.advance(2 * MINUTE_MS)
    const health = { status: 'DEGRADED', reason: { code: 'lab_state_unknown' } }
    expect(await rig.session()).toMatchObject({ status: 'RUNNING', health })
    const { version } = await rig.session()
    await rig.clock.advance(20 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ version, status: 'RUNNING' })
    answers = 'labs'
    await rig.clock.advance(30_000)
    expect(await rig.session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' } })
  })

  it('without a lab for minutes has lost it', async () => {
    answers = 'no labs'
    await rig.clock.advance(4 * MINUTE_MS)
    expect(await isEnded(rig, 'ls-1')).toBe(true)
  })
})
