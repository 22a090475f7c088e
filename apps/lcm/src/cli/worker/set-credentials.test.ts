import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker } from '../testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'

function fleet(options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  captured.api.put(aRunningWorker())
  return { ...captured, lcm: (...args: string[]) => run(['set', 'credentials', ...args], captured.shell) }
}

it('reads the password from standard input, including spaces', async () => {
  const { lcm, api, out } = fleet({ input: ' pass word \n' })
  expect(await lcm('metal-1')).toBe(0)
  expect(api.requests().at(-1)).toBe(`PUT /workers/${ID}/credentials`)
  expect(api.bodies()).toEqual([{ username: 'admin', password: ' pass word ' }])
  expect(out()).toBe(`LCM will log in to CML on metal-1 (${ID}) as admin\n`)
})

it('reads the password from a file, and another user name', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-set-')), 'password')
  writeFileSync(file, 'of-a-file\n')
  const { lcm, api, err } = fleet()
  expect(await lcm(ID, '--username', 'lcm', '--password-file', file)).toBe(0)
  expect(api.bodies()).toEqual([{ username: 'lcm', password: 'of-a-file' }])
  expect(await lcm(ID, '--password-file', '/nowhere')).toBe(1)
  expect(err()).toBe("error: /nowhere can't be read (ENOENT): use a file that contains only the password\n")
})

it('prompts without echoing the input', async () => {
  const { lcm, api, press, isListening, out, err } = fleet({ isTty: true })
  const done = lcm('metal-1')
  while (!isListening()) await Promise.resolve()
  press('typed-one\r')
  expect(await done).toBe(0)
  expect(api.bodies()).toEqual([{ username: 'admin', password: 'typed-one' }])
  expect(err()).toContain('Password for metal-1')
  expect(`${out()}${err()}`).not.toContain('typed-one')
})

it('refuses an empty password', async () => {
  const { lcm, api, err } = fleet({ input: '\n' })
  expect(await lcm('metal-1')).toBe(2)
  expect(err()).toContain('the password is empty')
  expect(api.bodies()).toEqual([])
})
