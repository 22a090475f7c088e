import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

it('resets the term of a service', async () => {
  const { shell, api, out } = capturedShell()
  expect(await run(['services', 'reset-term', 'worker-controller'], shell)).toBe(0)
  expect(api.requests()).toEqual(['DELETE /services/worker-controller/term'])
  expect(out()).toContain('its next leader will be accepted')
})

it.each(['trigger', 'resign', 'reset-term'])('refuses to %s a service without a leader', async verb => {
  const { shell, api, err } = capturedShell()
  expect(await run(['services', verb, 'control-plane-api'], shell)).toBe(2)
  expect(err()).toBe(
    'error: control-plane-api has no leader because all of its replicas serve: name a controller, list them with `lcm get services`\n',
  )
  expect(api.requests()).toEqual([])
})

it.each([
  ['trigger', 'requested a full sweep'],
  ['resign', 'requested a new leader'],
])('requests %s with a reason', async (verb, message) => {
  const { shell, api, out } = capturedShell()
  expect(await run(['services', verb, 'worker-controller', '--reason', 'to see'], shell)).toBe(0)
  expect(api.requests()).toEqual([`POST /services/worker-controller/${verb}`])
  expect(api.bodies()).toEqual([{ reason: 'to see' }])
  expect(out()).toContain(message)
})
