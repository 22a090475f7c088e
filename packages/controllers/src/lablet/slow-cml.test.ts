import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import { describe, expect, it } from 'vitest'
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
    for (let n = 0; n < 8; n += 1) await rig.book(`ls-${n}`)
    await rig.clock.advance(10_000)
    const waiting = await rig.session('ls-7')
    expect(waiting.status).toBe('SCHEDULED')
    await rig.cancel('ls-7')
    await rig.clock.advance(1_000)
    expect(await isEnded(rig, 'ls-7')).toBe(true)
  })
})
