import { toInstant } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { EXIT } from '../cli-error.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

function timings(id: string, ...recent_ms: number[]) {
  const captured = capturedShell()
  const at = toInstant(captured.api.clock.now())
  captured.api.seed(() =>
    captured.api.plane.put('timings', { id, version: 1, created_at: at, updated_at: at, recent_ms }),
  )
  return { ...captured, lcm: (...args: string[]) => run(['get', 'timings', ...args], captured.shell) }
}

it('lists how long machines, labs and teardowns take', async () => {
  const { lcm, outLines } = timings('boot:metal', 540_000, 600_000, 1_200_000)
  expect(await lcm()).toBe(0)
  expect(outLines()).toEqual(['OF           COUNT   MEDIAN   P99   SLOWEST', 'boot:metal   3       10m      20m   20m'])
})

it('shows one by its id', async () => {
  const { lcm, out } = timings('lab:bgp', 300_000)
  expect(await lcm('lab:bgp', '-o', 'json')).toBe(0)
  expect(JSON.parse(out())).toMatchObject({ id: 'lab:bgp', recent_ms: [300_000] })
  expect(await timings('lab:bgp').lcm('lab:ospf')).toBe(EXIT.notFound)
})
