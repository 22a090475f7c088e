import type { CmlLogin } from '@lcm/cloud/cml-access'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { describe, expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabWorld, labWorld, MINUTE_MS } from './testing/lab-world.ts'

const SLOW = 30
const SILENT_MS = 5 * MINUTE_MS

const isEnded = async ({ session }: LabWorld, id: string) =>
  ['STOPPING', 'TERMINATED'].includes((await session(id)).status)

/** Servers but the one of the world take a connection and answer nothing until the caller gives up. */
function withSilentServers({ labs, clock, login }: LabWorld): CmlLabs {
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

it('thirty CML servers that answer nothing keep no session elsewhere from its lab', async () => {
  const world = await labWorld()
  for (let n = 0; n < SLOW; n += 1) {
    const id = `w-slow-${n}`
    const mine = { id, ec2_instance_id: `i-slow-${n}`, https_endpoint: `https://127.66.0.${n + 1}` }
    await world.plane.put('workers', { ...(await world.worker()), ...mine })
    await world.book(`ls-slow-${n}`, 0, id)
  }
  aController(world, 'one', { labs: withSilentServers(world) })
  await world.clock.advance(10_000)
  await world.book('ls-quick')
  await world.clock.advance(4 * MINUTE_MS)
  expect((await world.session('ls-slow-0')).status).toBe('INSTANTIATING')
  expect((await world.session('ls-quick')).status).toBe('RUNNING')
})

describe('a session that its owner cancels while CML is silent', () => {
  /** The server of the world falls silent when it is told to. */
  function fallingSilent({ labs, clock }: LabWorld) {
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
  it('begins to end at once though its lab can not be seen', async () => {
    const world = await labWorld()
    const { state, labs } = fallingSilent(world)
    aController(world, 'one', { labs })
    await world.book('ls-up')
    await world.clock.advance(4 * MINUTE_MS)
    expect((await world.session('ls-up')).status).toBe('RUNNING')
    state.isSilent = true
    await world.cancel('ls-up')
    await world.clock.advance(1_000)
    expect(await isEnded(world, 'ls-up')).toBe(true)
  })

  it('begins to end at once though others have all the turns at its CML', async () => {
    const world = await labWorld()
    const { state, labs } = fallingSilent(world)
    state.isSilent = true
    aController(world, 'one', { labs })
    for (let n = 0; n < 8; n += 1) await world.book(`ls-${n}`)
    await world.clock.advance(10_000)
    const waiting = await world.session('ls-7')
    expect(waiting.status).toBe('SCHEDULED')
    await world.cancel('ls-7')
    await world.clock.advance(1_000)
    expect(await isEnded(world, 'ls-7')).toBe(true)
  })
})
