import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'
import { aLaunch, aRunningWorker, aTemplate } from '../testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'

function fleet(options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  captured.api.put(aRunningWorker({ launch: aLaunch({ state: 'launched' }) }))
  captured.api.putTemplate(aTemplate({ license_product: 'CML_Personal' }))
  return { ...captured, lcm: (...args: string[]) => run(['license', ...args], captured.shell) }
}

it('reads the token from standard input, and the product from the template', async () => {
  const { lcm, api, out } = fleet({ input: 'secret-token\n' })
  expect(await lcm('register', 'metal-1')).toBe(0)
  expect(api.requests().at(-1)).toBe(`PUT /workers/${ID}/license`)
  expect(api.bodies()).toEqual([{ product: 'CML_Personal', token: 'secret-token' }])
  expect(out()).toBe(`metal-1 (${ID}) will be registered for CML_Personal\n`)
})

it('reads the token from a file', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-license-')), 'token')
  writeFileSync(file, 'of-a-file\n')
  const { lcm, api, err } = fleet()
  expect(await lcm('register', 'metal-1', '--product', 'CML_Enterprise', '--token-file', file)).toBe(0)
  expect(api.bodies()).toEqual([{ product: 'CML_Enterprise', token: 'of-a-file' }])
  expect(await lcm('register', 'metal-1', '--token-file', '/nowhere')).toBe(1)
  expect(err()).toBe("error: /nowhere can't be read (ENOENT): use a file that contains only the token\n")
})

it('prompts without echoing the input', async () => {
  const { lcm, api, press, isListening, out, err } = fleet({ isTty: true })
  const done = lcm('register', 'metal-1')
  await api.answered('GET /worker-templates/metal')
  await until(isListening)
  press('typed-token\r')
  expect(await done).toBe(0)
  expect(api.bodies()).toEqual([{ product: 'CML_Personal', token: 'typed-token' }])
  expect(err()).toContain('Token for metal-1')
  expect(`${out()}${err()}`).not.toContain('typed-token')
})

it('changes nothing when the user interrupts', async () => {
  const { lcm, api, press, isListening } = fleet({ isTty: true })
  const done = lcm('register', 'metal-1')
  await until(isListening)
  press('typed\u0003')
  expect(await done).toBe(130)
  expect(api.bodies()).toEqual([])
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Promise.resolve()
}

it.each([
  ['', 'the token is empty'],
  ['two words', 'the token contains spaces'],
])('refuses %j as a token', async (input, message) => {
  const { lcm, api, err } = fleet({ input })
  expect(await lcm('register', 'metal-1')).toBe(2)
  expect(err()).toContain(message)
  expect(api.bodies()).toEqual([])
})

it('needs a product from the option or the template', async () => {
  const { lcm, api, err } = fleet({ input: 'token' })
  api.putTemplate(aTemplate({ license_product: null }))
  expect(await lcm('register', 'metal-1')).toBe(2)
  expect(err()).toContain('set it with --product')
})

it('waits until the license is registered, and reports a refusal', async () => {
  const { lcm, api, clock, out, err } = fleet({ input: 'token' })
  const done = lcm('register', 'metal-1', '--wait')
  await api.stream(1)
  api.change(ID, { license: { ...NO_LICENSE, pending_operation: 'register', status: 'REGISTERING' } })
  await clock.advance(0)
  api.change(ID, { license: { ...NO_LICENSE, status: 'REGISTERED', udi: 'udi-1' } })
  expect(await done).toBe(0)
  expect(err()).toContain('the license of metal-1 is REGISTERING')
  expect(out()).toBe('the license of metal-1 is REGISTERED after 0s: udi-1\n')
  const refused = lcm('register', 'metal-1', '--wait')
  await api.stream(2)
  api.change(ID, { license: { ...NO_LICENSE, status: 'FAILED', last_error: 'the token has expired' } })
  expect(await refused).toBe(1)
  expect(err()).toContain('metal-1 could not register its license: the token has expired')
})

it('deregisters the license', async () => {
  const { lcm, api, out } = fleet()
  const done = lcm('deregister', 'metal-1', '--wait')
  await api.stream(1)
  expect(api.requests()).toContain(`DELETE /workers/${ID}/license`)
  api.change(ID, { license: { ...NO_LICENSE } })
  expect(await done).toBe(0)
  expect(out()).toBe('the license of metal-1 is UNREGISTERED after 0s\n')
})

it('reports when the result of the deregistration is unknown', async () => {
  const { lcm, api, out } = fleet()
  const done = lcm('deregister', 'metal-1', '--wait')
  await api.stream(1)
  api.change(ID, { license: { ...NO_LICENSE, last_error: 'its response was lost' } })
  expect(await done).toBe(0)
  expect(out()).toContain('its response was lost; see `lcm get leaks`')
})

it('does not wait for a stopped worker, and explains when it will be done', async () => {
  const { lcm, api, out, err } = fleet({ input: 'token' })
  api.change(ID, { status: 'STOPPED', desired_status: 'STOPPED' })
  expect(await lcm('register', 'metal-1')).toBe(0)
  expect(out()).toContain('when it is RUNNING; it is STOPPED now')
  expect(await lcm('register', 'metal-1', '--wait')).toBe(1)
  expect(err()).toContain('run `lcm start worker metal-1`')
})
