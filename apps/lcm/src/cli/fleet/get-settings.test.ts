import { expect, it } from 'vitest'
import { EXIT } from '../cli-error.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

function settings() {
  const captured = capturedShell()
  return { ...captured, lcm: (...args: string[]) => run(['get', 'settings', ...args], captured.shell) }
}

it('lists every setting with its value and where it comes from', async () => {
  const { lcm, outLines } = settings()
  expect(await lcm()).toBe(0)
  expect(outLines()[0]).toMatch(/^NAME +VALUE +SOURCE$/)
  expect(outLines()).toContainEqual(expect.stringMatching(/^scale_up_enabled +true +default$/))
})

it('shows one setting', async () => {
  const { lcm, out } = settings()
  expect(await lcm('min_workers', '-o', 'json')).toBe(0)
  expect(JSON.parse(out())).toMatchObject({ name: 'min_workers', source: 'default' })
})

it('sends all data as JSON, and names for scripts', async () => {
  const json = settings()
  await json.lcm('-o', 'json')
  expect(JSON.parse(json.out())).toMatchObject({ version: 0, settings: { scale_up_enabled: { value: true } } })
  const names = settings()
  await names.lcm('-o', 'name')
  expect(names.outLines()).toContain('scale_up_enabled')
})

it('names the command that lists them when there is none of that name', async () => {
  const { lcm, err } = settings()
  expect(await lcm('scale_up')).toBe(EXIT.notFound)
  expect(err()).toMatch(/there is no setting scale_up: list them with `lcm get settings`/)
})
