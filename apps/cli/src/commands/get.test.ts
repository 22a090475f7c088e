import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker, aTemplate, aWorker } from '../testing/samples.ts'

async function got(...args: string[]) {
  const captured = capturedShell()
  captured.api.put(aRunningWorker())
  captured.api.put(aWorker({ id: 'w-2', name: 'metal-2' }))
  captured.api.put(aWorker({ id: 'w-3', name: 'metal-2', status: 'TERMINATED' }))
  captured.api.putTemplate(aTemplate())
  return { code: await run(['get', ...args], captured.shell), ...captured }
}

it('lists workers, and with --all those that are TERMINATED too', async () => {
  expect((await got('workers')).outLines()).toHaveLength(3)
  expect((await got('workers', '--all')).outLines()).toHaveLength(4)
})

it('shows one by id or name', async () => {
  expect((await got('worker', 'metal-1')).outLines()).toHaveLength(2)
  expect((await got('workers', 'w-2', '-o', 'name')).out()).toBe('metal-2\n')
  expect(JSON.parse((await got('worker', 'metal-1', '-o', 'json')).out())).toEqual(aRunningWorker())
  expect(parse((await got('worker', 'metal-1', '-o', 'yaml')).out())).toEqual(aRunningWorker())
})

it('prints lists for programs', async () => {
  expect(JSON.parse((await got('workers', '-o', 'json')).out()).items).toHaveLength(2)
  expect(parse((await got('workers', '-o', 'yaml')).out()).items).toHaveLength(2)
  expect((await got('workers', '-o', 'name')).outLines()).toEqual(['metal-1', 'metal-2'])
})

it('prints ids where names are not unique, so that every line can be given back', async () => {
  expect((await got('workers', '--all', '-o', 'name')).outLines()).toEqual(['metal-1', 'w-2', 'w-3'])
})

it('lists templates', async () => {
  expect((await got('templates')).outLines()[1]).toMatch(/^metal {3}/)
  expect((await got('template', 'metal', '-o', 'name')).out()).toBe('metal\n')
})

it('exits with 3 for what is not there', async () => {
  const { code, err } = await got('worker', 'metal-9')
  expect(code).toBe(3)
  expect(err()).toBe('error: there is no worker metal-9: `lcm get workers --all` lists them\n')
  expect((await got('template', 'none')).code).toBe(3)
})

it('says what to do about an empty list, but not to programs', async () => {
  const empty = capturedShell()
  expect(await run(['get', 'workers'], empty.shell)).toBe(0)
  expect([empty.out(), empty.err()]).toEqual([
    '',
    'there are no workers: create one with `lcm create worker --template NAME`\n',
  ])
  const json = capturedShell()
  await run(['get', 'workers', '-o', 'json'], json.shell)
  expect(JSON.parse(json.out())).toEqual({ items: [] })
})
