import { describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker } from '../testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'

function fleet(options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  captured.api.put(aRunningWorker())
  return { ...captured, lcm: (...args: string[]) => run(args, captured.shell) }
}

it('changes the desired status with a reason', async () => {
  const { lcm, api, out } = fleet()
  expect(await lcm('stop', 'worker', 'metal-1', '--reason', 'over the weekend')).toBe(0)
  expect(out()).toBe(`metal-1 (${ID}) will be STOPPED; it is RUNNING now\n`)
  expect(api.requests().at(-1)).toBe(`POST /workers/${ID}/stop`)
  expect(api.bodies().at(-1)).toEqual({ reason: 'over the weekend' })
})

it('reports that the desired status is already set', async () => {
  const { lcm, out } = fleet()
  expect(await lcm('start', 'worker', ID)).toBe(0)
  expect(out()).toBe(`metal-1 (${ID}) is already RUNNING\n`)
})

it('waits until it is stopped', async () => {
  const { lcm, api, clock, out, errLines } = fleet()
  const done = lcm('stop', 'worker', 'metal-1', '--wait')
  await api.stream(1)
  api.change(ID, { status: 'STOPPING' })
  await clock.advance(5_000)
  api.change(ID, { status: 'STOPPED' })
  expect(await done).toBe(0)
  expect(errLines().at(-1)).toBe('    0s  metal-1 is STOPPING: waiting for EC2 to report the instance as stopped')
  expect(out()).toBe('metal-1 is STOPPED after 5s\n')
})

it('exits with 1 when another user changes the desired status', async () => {
  const { lcm, api, err } = fleet()
  const done = lcm('stop', 'worker', 'metal-1', '--wait')
  await api.stream(1)
  api.change(ID, { desired_status: 'RUNNING', desired_by: 'eve' })
  expect(await done).toBe(1)
  expect(err()).toContain('metal-1 has a new desired status RUNNING, set by eve')
})

it('explains that the change continues after an interrupted wait', async () => {
  const { lcm, api, err, interrupt } = fleet()
  const done = lcm('stop', 'worker', 'metal-1', '--wait')
  await api.stream(1)
  interrupt()
  expect(await done).toBe(130)
  expect(err()).toContain('stopped waiting for metal-1: it continues in the background')
})

describe('terminate', () => {
  const wasAsked = (requests: string[]) => requests.some(request => request.endsWith('/terminate'))

  it('proceeds when the name is typed', async () => {
    const { lcm, api, err } = fleet({ typed: 'metal-1' })
    expect(await lcm('terminate', 'worker', ID)).toBe(0)
    expect(err()).toContain(
      'Terminating metal-1 (w-0abcdefgh0001) permanently deletes its disk. Type its name to confirm: ',
    )
    expect(wasAsked(api.requests())).toBe(true)
  })

  it('does nothing when something else is typed', async () => {
    const { lcm, api, err } = fleet({ typed: 'yes' })
    expect(await lcm('terminate', 'worker', ID)).toBe(1)
    expect(err()).toContain('metal-1 was not changed')
    expect(wasAsked(api.requests())).toBe(false)
  })

  it('needs --yes without a terminal', async () => {
    const { lcm, api, err } = fleet()
    expect(await lcm('terminate', 'worker', ID)).toBe(2)
    expect(err()).toBe(
      'error: terminating metal-1 (w-0abcdefgh0001) permanently deletes its disk: add --yes to confirm\n',
    )
    expect(wasAsked(api.requests())).toBe(false)
    expect(await lcm('terminate', 'worker', ID, '--yes')).toBe(0)
  })

  it('does not ask with --yes', async () => {
    const { lcm, err } = fleet({ typed: 'never read' })
    expect(await lcm('terminate', 'worker', ID, '-y')).toBe(0)
    expect(err()).toBe('')
  })

  it('succeeds when the record is deleted meanwhile', async () => {
    const { lcm, api, out } = fleet()
    const done = lcm('terminate', 'worker', ID, '--yes', '--wait')
    await api.stream(1)
    api.remove(ID)
    expect(await done).toBe(0)
    expect(out()).toBe('metal-1 deleted after 0s\n')
  })

  it('exits with 4 when the worker is protected', async () => {
    const { lcm, api, err } = fleet()
    api.change(ID, { protected: true })
    expect(await lcm('terminate', 'worker', ID, '--yes')).toBe(4)
    expect(err()).toContain('`lcm unprotect worker ID`')
  })
})

it('exits with 4 and names the candidates when a name is not unique', async () => {
  const { lcm, api, errLines } = fleet()
  api.put(aRunningWorker({ id: 'w-2', ec2_instance_id: 'i-2' }))
  expect(await lcm('stop', 'worker', 'metal-1')).toBe(4)
  expect(errLines()).toEqual([
    'error: 2 workers are named metal-1: use the id instead',
    `  ${ID}  RUNNING  us-east-1`,
    '  w-2  RUNNING  us-east-1',
  ])
})

it('retries a failed worker', async () => {
  const { lcm, api, out } = fleet()
  expect(await lcm('retry', 'worker', 'metal-1')).toBe(4)
  api.change(ID, { status: 'FAILED' })
  expect(await lcm('retry', 'worker', 'metal-1', '--reason', 'quota is raised')).toBe(0)
  expect(api.bodies().at(-1)).toEqual({ reason: 'quota is raised' })
  expect(out()).toBe(`metal-1 (${ID}) will be RUNNING; it is STARTING now\n`)
})
