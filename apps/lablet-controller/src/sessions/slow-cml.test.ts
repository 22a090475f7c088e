import type { CmlLogin } from '@lcm/cloud/cml-access'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { type LabWorld, labWorld, MINUTE_MS } from '../testing/lab-world.ts'

const SLOW = 30
const SILENT_MS = 5 * MINUTE_MS

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
    world.api.workers.set(id, { ...world.worker(), id, https_endpoint: `https://127.66.0.${n + 1}` })
    world.book(`ls-slow-${n}`)
    world.change(`ls-slow-${n}`, { worker_id: id })
  }
  aController(world, 'one', { labs: withSilentServers(world) })
  await world.clock.advance(10_000)
  world.book('ls-quick')
  await world.clock.advance(4 * MINUTE_MS)
  expect(world.api.session('ls-slow-0').status).toBe('INSTANTIATING')
  expect(world.api.session('ls-quick').status).toBe('RUNNING')
})
