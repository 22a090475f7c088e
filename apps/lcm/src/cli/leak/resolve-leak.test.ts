import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aLeak } from '../testing/resource-builders.ts'

it('marks a leak as resolved, and then lists it only with --all', async () => {
  const { shell, api, outLines, err } = capturedShell()
  api.putLeak(aLeak())
  expect(await run(['get', 'leaks', '-o', 'name'], shell)).toBe(0)
  expect(await run(['resolve', 'leak', 'll-1', '--reason', 'removed in CSSM'], shell)).toBe(0)
  expect(api.bodies()).toEqual([{ reason: 'removed in CSSM' }])
  expect(await run(['get', 'leaks'], shell)).toBe(0)
  expect(err()).toContain('all leaks are resolved: list them with `lcm get leaks --all`')
  await run(['get', 'leaks', '--all'], shell)
  expect(outLines()).toEqual([
    'll-1',
    'leak ll-1 of metal-9 resolved',
    'ID     WORKER    PRODUCT          HOSTNAME   UDI     AGE   RESOLVED        REASON',
    'll-1   metal-9   CML_Enterprise   cml-9      udi-9   0s    0s ago by ann   its machine was terminated outside LCM',
  ])
})

it('exits with 3 for an unknown leak', async () => {
  const { shell, err } = capturedShell()
  expect(await run(['resolve', 'leak', 'll-9'], shell)).toBe(3)
  expect(err()).toBe('error: leak ll-9 not found: list all with `lcm get leaks --all`\n')
})

it('appears in a watched list and a watched leak', async () => {
  for (const args of [[], ['ll-1']]) {
    const { shell, api, clock, interrupt, outLines } = capturedShell()
    api.putLeak(aLeak())
    const watching = run(['get', 'leaks', ...args, '--all', '--watch', '-o', 'json'], shell)
    const untilRows = async (n: number) => {
      await clock.advance(15_000)
      await api.answered('GET /license-leaks', n)
    }
    await untilRows(2)
    await untilRows(3)
    api.putLeak(aLeak({ resolved_at: '2026-01-01T00:00:00.000Z', resolved_by: 'ann' }))
    await untilRows(4)
    await clock.advance(0)
    interrupt()
    expect(await watching).toBe(0)
    expect(outLines().map(line => JSON.parse(line).resolved_by)).toEqual([null, 'ann'])
  }
})
