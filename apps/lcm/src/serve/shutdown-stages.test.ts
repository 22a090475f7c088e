import { aborted, type HostedService, silentLogger } from '@lcm/runtime'
import { beforeEach, expect, it } from 'vitest'
import { hostInStages } from './shutdown-stages.ts'

let log: string[]
let finish: Map<string, () => void>
let stop: AbortController
beforeEach(() => {
  log = []
  finish = new Map()
  stop = new AbortController()
})

/** Ends when it is stopped and the test allows it. */
const service = (name: string): HostedService => ({
  name,
  async run(signal) {
    const finished = new Promise<void>(resolve => finish.set(name, resolve))
    await aborted(signal)
    log.push(`${name} is stopped`)
    await finished
    log.push(`${name} ended`)
  },
})
const failing = (name: string): HostedService => ({ name, run: () => Promise.reject(new Error('it broke')) })
const untilLogged = (...lines: string[]) => expect.poll(() => log).toEqual(lines)

it('stops a stage only when all earlier stages have ended', async () => {
  const running = hostInStages([[service('a'), service('b')], [service('c')]], stop.signal, { logger: silentLogger })
  stop.abort()
  await untilLogged('a is stopped', 'b is stopped')
  finish.get('a')?.()
  await expect.poll(() => log).toContain('a ended')
  finish.get('b')?.()
  await expect.poll(() => log).toContain('c is stopped')
  finish.get('c')?.()
  await running
  expect(log.slice(2)).toEqual(['a ended', 'b ended', 'c is stopped', 'c ended'])
})

it.each([
  ['first', () => [[failing('x')], [service('a')], [service('b')]]],
  ['last', () => [[service('a')], [service('b')], [failing('x')]]],
])('stops all stages in order when one of the %s stage fails', async (_, stages) => {
  const running = hostInStages(stages(), stop.signal, { logger: silentLogger })
  running.catch(() => undefined)
  await untilLogged('a is stopped')
  finish.get('a')?.()
  await untilLogged('a is stopped', 'a ended', 'b is stopped')
  finish.get('b')?.()
  await expect(running).rejects.toThrow('x: it broke')
  expect(log.at(-1)).toBe('b ended')
})
