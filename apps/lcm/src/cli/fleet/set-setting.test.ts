import { aTemplate } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { EXIT } from '../cli-error.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker } from '../testing/resource-builders.ts'

function fleet() {
  const captured = capturedShell()
  captured.api.actAs({ role: 'admin' })
  return { ...captured, lcm: (...args: string[]) => run(['set', 'setting', ...args], captured.shell) }
}

it.each([
  ['budget_usd_per_day', '100.5', 100.5],
  ['budget_usd_per_day', 'off', 'off'],
  ['min_workers', '2', 2],
  ['scale_up_enabled', 'off', false],
  ['scale_up_enabled', 'true', true],
  ['idle_action', 'none', 'none'],
  ['quota_user_live_sessions', 'unlimited', 'unlimited'],
])('sets %s to %s', async (name, text, value) => {
  const { lcm, api, out } = fleet()
  expect(await lcm(name, text)).toBe(0)
  expect(api.bodies().at(-1)).toEqual({ [name]: value })
  expect(out()).toBe(`${name} is ${value}\n`)
})

it('resets one to its default', async () => {
  const { lcm, outLines } = fleet()
  await lcm('min_workers', '2')
  expect(await lcm('min_workers', '--default')).toBe(0)
  expect(outLines().at(-1)).toBe('min_workers is 0 (default)')
})

it.each([
  [['min_worker', '2'], EXIT.notFound, 'there is no setting min_worker'],
  [['min_workers'], EXIT.usage, 'give a value or --default'],
  [['min_workers', '2', '--default'], EXIT.usage, 'give a value or --default'],
  [['budget_usd_per_day', 'lots'], EXIT.failed, 'budget_usd_per_day'],
  [['min_workers', '--', '-3'], EXIT.failed, 'min_workers'],
])('refuses %j', async (args, code, message) => {
  const { lcm, err } = fleet()
  expect(await lcm(...args)).toBe(code)
  expect(err()).toContain(message)
})

it.each([[['start', 'worker', 'metal-1']], [['create', 'worker', '--template', 'metal']]])(
  '%j is done by a person whatever the budget, with a warning',
  async args => {
    const { lcm, api, shell, err } = fleet()
    api.put(aRunningWorker())
    api.putTemplate(aTemplate({ name: 'metal' }))
    await lcm('budget_usd_per_day', '0')
    expect(await run(args, shell)).toBe(0)
    expect(err()).toMatch(/^warning: the budget of \$0.00 for the day .* is used up/)
  },
)
