import { expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { labRig, MINUTE_MS } from './testing/lab-rig.ts'

/** A machine that was stopped and started has another address. The old one may belong to another machine now. */
it('the access of a session that is up follows the address of its worker', async () => {
  const rig = await labRig()
  aController(rig, 'one')
  await rig.book('ls-1')
  await rig.clock.advance(10 * MINUTE_MS)
  expect((await rig.session('ls-1')).status).toBe('RUNNING')
  await rig.changeWorker({ https_endpoint: 'https://192.0.2.9:8443', public_ip: '192.0.2.9' })
  await rig.clock.advance(3 * MINUTE_MS)
  const hosts = new Set((await rig.session('ls-1')).access.map(({ host }) => host))
  expect([...hosts]).toEqual(['192.0.2.9'])
})

/** A version before approvals may have recorded the address of another machine from a tag. */
it('no session leads people to an address that is not of its worker', async () => {
  const rig = await labRig()
  aController(rig, 'one')
  await rig.book('ls-1')
  await rig.clock.advance(10 * MINUTE_MS)
  const { access } = await rig.session('ls-1')
  await rig.changeWorker({ https_endpoint: 'https://192.0.2.66:8443' })
  await rig.clock.advance(3 * MINUTE_MS)
  expect((await rig.session('ls-1')).access).toEqual(access)
})
