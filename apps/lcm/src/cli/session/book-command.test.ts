import { textReason } from '@lcm/domain/reason'
import { describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import {
  aDefinition,
  anInstantiatingSession,
  aReadySession,
  aRunningWorker,
  aTemplate,
} from '../testing/resource-builders.ts'

function course() {
  const captured = capturedShell()
  const { definitions, sessions } = captured.api
  const book = (...args: string[]) => run(['book', ...args], captured.shell)
  /** The id of the session that was booked last. */
  const bookedId = async () => (await sessions.all()).at(-1)?.id ?? ''
  return { ...captured, definitions, sessions, book, bookedId }
}

describe('book', () => {
  const booked = () => {
    const all = course()
    all.definitions.put(aDefinition())
    all.api.putTemplate(aTemplate({ license_product: 'CML_Enterprise' }))
    return all
  }

  it('books, and prints the end of the slot', async () => {
    const { book, api, bookedId, out } = booked()
    expect(await book('two-routers', '--for', '30m')).toBe(0)
    expect(api.bodies()).toEqual([{ definition: 'two-routers', duration_minutes: 30 }])
    expect(out()).toBe(
      `session ${await bookedId()} of two-routers 1.0.0 booked ` +
        'from 2026-01-01 00:00 UTC to 2026-01-01 00:30 UTC, ends in 30m. Capacity is promised\n',
    )
  })

  it('accepts a time of any zone and sends it in the format of the API', async () => {
    const { book, api } = booked()
    const options = ['--start', '2026-01-31T09:00+02:00', '--reservation', 'R-1', '-o', 'name']
    expect(await book('two-routers', ...options)).toBe(0)
    expect(api.bodies()).toEqual([
      { definition: 'two-routers', start: '2026-01-31T07:00:00.000Z', reservation_id: 'R-1' },
    ])
  })

  it('books several seats, all or none, and prints their ids', async () => {
    const { book, api, sessions, outLines } = booked()
    expect(await book('two-routers', '--seats', '3', '--start', '2026-01-31T09:00Z')).toBe(0)
    expect(api.bodies()).toEqual([{ definition: 'two-routers', seats: 3, start: '2026-01-31T09:00:00.000Z' }])
    const ids = (await sessions.all()).map(({ id }) => id)
    expect(outLines()).toEqual([
      expect.stringMatching(
        /^3 sessions of two-routers 1\.0\.0 booked from 2026-01-31 09:00 UTC .* Capacity is promised$/,
      ),
      ...ids,
    ])
  })

  it('prints the commands that book the nearest times when the calendar is full then', async () => {
    const { book, err } = booked()
    const start = ['--start', '2026-01-31T09:00Z', '--for', '30m']
    expect(await book('two-routers', '--seats', '100', ...start)).toBe(0)
    expect(await book('two-routers', '--seats', '1', ...start)).toBe(4)
    expect(err()).toContain('No capacity at 2026-01-31 09:00 UTC: all capacity of that time is booked')
    expect(err()).toMatch(
      /2026-01-31 \d\d:\d\d UTC works: lcm book two-routers --start 2026-01-31T\d\d:\d\dZ --for 30m --seats 1\n/,
    )
    const [, command = ''] = /works: lcm book (.*)\n/.exec(err()) ?? []
    expect(await book(...command.split(' '))).toBe(0)
  })

  it('books without a promise where it is asked to', async () => {
    const { book, api, out } = booked()
    expect(await book('two-routers', '--seats', '150', '--best-effort', '-o', 'name')).toBe(0)
    expect(api.bodies()).toEqual([{ definition: 'two-routers', seats: 150, best_effort: true }])
    expect(out().trim().split('\n')).toHaveLength(150)
  })

  it.each([
    ['--wait', 'only one session can be waited for: omit --wait'],
    ['--reservation=R-1', 'a reservation number is for one session: omit --seats'],
  ])('refuses seats with %s', async (option, message) => {
    const { book, api, err } = booked()
    expect(await book('two-routers', '--seats', '2', option)).toBe(2)
    expect(err()).toContain(message)
    expect(api.bodies()).toEqual([])
  })

  it.each([
    ['--seats', '0'],
    ['--seats', '201'],
    ['--start', 'tomorrow'],
    ['--start', '2026-02-31'],
    ['--for', '0m'],
    ['--for', '90s'],
  ])('refuses %s %s as a usage error', async (...options) => {
    const { book, api } = booked()
    expect(await book('two-routers', ...options)).toBe(2)
    expect(api.requests()).toEqual([])
  })

  it('shows each step and ends with the access addresses', async () => {
    const { book, api, clock, sessions, bookedId, outLines, errLines } = booked()
    const done = book('two-routers', '--wait')
    await api.stream(1)
    const id = await bookedId()
    sessions.change(id, { waiting_reason: textReason('waits for metal-2') })
    await clock.advance(0)
    api.put(aRunningWorker({ id: 'w-2', name: 'metal-2' }))
    sessions.change(id, { status: 'SCHEDULED', worker_id: 'w-2', waiting_reason: null })
    await clock.advance(20_000)
    const { status, pipeline, worker_id } = anInstantiatingSession(4)
    sessions.change(id, { status, pipeline, worker_id })
    await clock.advance(40_000)
    sessions.change(id, { status: 'RUNNING', access: aReadySession().access, pipeline: aReadySession().pipeline })
    expect(await done).toBe(0)
    expect(errLines().slice(1)).toEqual([
      `    0s  session ${id} is PENDING: waiting for placement`,
      `    0s  session ${id} is PENDING: waits for metal-2`,
      `    0s  session ${id} is SCHEDULED: placed on metal-2, waiting for its start time`,
      `   20s  session ${id} is INSTANTIATING: step 5 of 7, lab_start`,
    ])
    expect(outLines()).toEqual([
      `session ${id} is RUNNING after 1m: it ends in 59m`,
      'NAME         NODE   PROTOCOL   OPEN WITH',
      'r1_serial    r1     serial     telnet 203.0.113.7 2000',
      'web_tcp_80   web    tcp        http://203.0.113.7:2001',
    ])
  })

  it('prints only the access addresses when quiet, and the session once for programs', async () => {
    const quiet = booked()
    const done = quiet.book('two-routers', '--wait', '-q')
    await quiet.api.stream(1)
    const id = await quiet.bookedId()
    quiet.sessions.change(id, aReadySession({ id }))
    expect(await done).toBe(0)
    expect([quiet.outLines().length, quiet.err()]).toEqual([3, ''])
    const json = booked()
    const printed = json.book('two-routers', '--wait', '-o', 'json')
    await json.api.stream(1)
    json.sessions.change(await json.bookedId(), aReadySession({ id: await json.bookedId() }))
    expect(await printed).toBe(0)
    expect(JSON.parse(json.out()).status).toBe('READY')
  })

  it('exits with 1 and the reason when the lab does not start', async () => {
    const { book, api, sessions, bookedId, err } = booked()
    const done = book('two-routers', '--wait')
    await api.stream(1)
    const id = await bookedId()
    sessions.change(id, { status: 'STOPPING', last_error: 'converged: r1 never booted' })
    expect(await done).toBe(1)
    expect(err()).toContain(
      `session ${id} is STOPPING: converged: r1 never booted: run \`lcm describe session ${id}\` for details`,
    )
  })

  it('fails when the record is deleted', async () => {
    const { book, api, sessions, bookedId, err } = booked()
    const done = book('two-routers', '--wait')
    await api.stream(1)
    const id = await bookedId()
    sessions.remove(id)
    expect(await done).toBe(1)
    expect(err()).toContain(`session ${id} was deleted`)
  })

  it('waits until after the start of the slot, or for --timeout', async () => {
    const { book, api, clock, err } = booked()
    const later = ['--start', '2026-01-01T02:00Z', '--wait']
    const booking = book('two-routers', ...later)
    await api.stream(1)
    await clock.advance(160 * 60_000)
    expect(err()).not.toContain('still so')
    await clock.advance(5 * 60_000)
    expect(await booking).toBe(1)
    const opened = api.plane.opened()
    const brief = book('two-routers', '--start', '2026-01-01T05:00Z', '--wait', '--timeout', '5m')
    await api.stream(opened + 1)
    await clock.advance(5 * 60_000)
    expect(await brief).toBe(1)
    expect(err()).toMatch(
      /timed out after 5m: .*: it continues in the background, check it with `lcm describe session ls-/,
    )
  })

  it('reports the maximum duration of a session', async () => {
    const { book, err } = booked()
    expect(await book('two-routers', '--for', '900h')).toBe(2)
    expect(err()).toContain('The maximum is 7d; the definition may allow less.')
  })

  it("exits with 3 for an unknown definition, with 1 for one that can't be booked", async () => {
    const { book, definitions, errLines } = booked()
    expect(await book('none')).toBe(3)
    definitions.change('ld-1', { status: 'DEPRECATED' })
    expect(await book('two-routers')).toBe(1)
    expect(errLines()).toEqual([
      'error: definition not found: list definitions with `lcm get definitions`',
      'error: two-routers 1.0.0 is DEPRECATED: only ACTIVE definitions can be booked, list them with `lcm get definitions`',
    ])
  })
})
