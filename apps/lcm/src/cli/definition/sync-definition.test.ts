import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition } from '../testing/resource-builders.ts'

const SOURCE = 'https://example.org/bgp.zip'

function author(source = SOURCE) {
  const captured = capturedShell()
  const { definitions } = captured.api
  definitions.put(aDefinition({ source }))
  const { sync } = aDefinition()
  return { ...captured, definitions, sync, lcm: (...args: string[]) => run(args, captured.shell) }
}

it('requests a fetch with a reason', async () => {
  const { lcm, api, out } = author()
  expect(await lcm('sync', 'definition', 'two-routers', '--reason', 'new exercise')).toBe(0)
  expect(api.requests().at(-1)).toBe('POST /lablet-definitions/ld-1/sync')
  expect(api.bodies()).toEqual([{ reason: 'new exercise' }])
  expect(out()).toBe(`definition two-routers 1.0.0 (ld-1) will be fetched from ${SOURCE}\n`)
})

it('waits until it is fetched', async () => {
  const { lcm, api, definitions, sync, out } = author()
  const done = lcm('sync', 'definition', 'two-routers', '--wait')
  await api.stream(1)
  definitions.change('ld-1', { sync: { ...sync, status: 'success' } })
  expect(await done).toBe(0)
  expect(out()).toBe('definition two-routers 1.0.0 was fetched and is ACTIVE after 0s\n')
})

it('exits with 1 when it could not be fetched', async () => {
  const { lcm, api, definitions, sync, err } = author()
  const done = lcm('sync', 'definition', 'two-routers', '--wait')
  await api.stream(1)
  definitions.change('ld-1', { sync: { ...sync, status: 'failed', error: 'it answered with status 404' } })
  expect(await done).toBe(1)
  expect(err()).toContain('could not be fetched: it answered with status 404')
})

it('exits with 4 where the topology was given inline, with 3 when there is none', async () => {
  const { lcm, err } = author('inline')
  expect(await lcm('sync', 'definition', 'two-routers')).toBe(4)
  expect(err()).toContain('`lcm edit definition NAME --file FILE`')
  expect(await lcm('sync', 'definition', 'none')).toBe(3)
})
