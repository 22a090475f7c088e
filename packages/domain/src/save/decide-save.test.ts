import { aSession } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import { type LabletSession, NEVER_SAVED, type SessionStatus } from '../session/lablet-session.ts'
import { decideSave, endsWithSave, isConsoleInUse, type SaveFacts } from './decide-save.ts'

const READY_MS = toMs('2026-01-02T10:00:00.000Z')
const MINUTE_MS = 60_000
const at = (minutes: number) => toInstant(READY_MS + minutes * MINUTE_MS)
const move = (from: SessionStatus | null, to: SessionStatus, minutes = 0) => ({
  ...{ from, to, at: at(minutes) },
  because: reason('not_given'),
})

const aRunning = (more: Partial<LabletSession> = {}) =>
  aSession({
    ...{ status: 'RUNNING', desired_status: 'RUNNING', timeslot: { start: at(0), end: at(240) } },
    state_history: [move('INSTANTIATING', 'READY'), move('READY', 'RUNNING', 1)],
    ...more,
  })
const saved = (minutes: number) => ({ ...NEVER_SAVED, tried_at: at(minutes) })
const requested = { ...saved(19), requested_at: at(20), requested_by: 'oidc:jane' }
const seen = (minutes: number, more: Partial<SaveFacts> = {}): SaveFacts => ({
  ...{ isEnabled: true, intervalMinutes: 10, isLabUp: true, nowMs: READY_MS + minutes * MINUTE_MS },
  ...more,
})
const now = { kind: 'save', cause: 'interval' }
const none = { kind: 'none' }

describe('a session is saved', () => {
  it.each<[string, LabletSession, SaveFacts, object]>([
    ['an interval after its lab was ready, at the latest', aRunning(), seen(10), now],
    ['not before half of that', aRunning(), seen(4.9), { kind: 'wait', afterMs: expect.any(Number) }],
    ['an interval after the last attempt', aRunning({ save: saved(20) }), seen(30), now],
    ['not before', aRunning({ save: saved(20) }), seen(29), { kind: 'wait', afterMs: MINUTE_MS }],
    [
      'counted again when its lab started on another worker',
      aRunning({ save: saved(3), state_history: [move('INSTANTIATING', 'READY', 20)] }),
      seen(24),
      { kind: 'wait', afterMs: expect.any(Number) },
    ],
    ['as soon as that is requested', aRunning({ save: requested }), seen(20), { kind: 'save', cause: 'request' }],
    [
      'on request although saves have no interval',
      aRunning({ save: requested }),
      seen(20, { intervalMinutes: 0 }),
      { kind: 'save', cause: 'request' },
    ],
    ['never at an interval of 0', aRunning(), seen(200, { intervalMinutes: 0 }), none],
    ['not while its lab is not up', aRunning({ save: requested }), seen(30, { isLabUp: false }), none],
    ['not when its definition has saves off', aRunning({ save: requested }), seen(30, { isEnabled: false }), none],
    ['before its timeslot too', aRunning({ status: 'READY' }), seen(10), now],
    ['not when it is canceled', aRunning({ desired_status: 'TERMINATED', save: requested }), seen(30), none],
    ['not while its lab starts', aRunning({ status: 'INSTANTIATING' }), seen(30), none],
    ['not while its lab is torn down', aRunning({ status: 'STOPPING', save: requested }), seen(30), none],
    ['not just before the save at its end', aRunning({ save: saved(229) }), seen(239), none],
  ])('%s', (_, session, facts, decision) => {
    expect(decideSave(session, facts)).toEqual(decision)
  })

  it('is saved at least once per interval, and no sooner than half of it', () => {
    const minutes = fc.integer({ min: 1, max: 60 })
    fc.assert(
      fc.property(fc.uuid(), minutes, fc.option(minutes, { nil: null }), (id, intervalMinutes, tried) => {
        const session = aRunning({ id, save: tried === null ? NEVER_SAVED : saved(tried) })
        const from = tried ?? 0
        const decided = decideSave(session, seen(from, { intervalMinutes }))
        const afterMs = decided.kind === 'wait' ? decided.afterMs : -1
        expect(afterMs).toBeGreaterThanOrEqual((intervalMinutes * MINUTE_MS) / 2)
        expect(afterMs).toBeLessThanOrEqual(intervalMinutes * MINUTE_MS)
        const due = { ...seen(from, { intervalMinutes }), nowMs: READY_MS + from * MINUTE_MS + afterMs }
        expect(decideSave(session, due)).toEqual(now)
      }),
    )
  })

  it('apart from the others of its class', () => {
    const dues = Array.from({ length: 20 }, (_, n) => decideSave(aRunning({ id: `ls-5k1r2m3n8pq${n}` }), seen(0)))
    const seconds = dues.map(due => (due.kind === 'wait' ? Math.floor(due.afterMs / 1000) : -1))
    expect(new Set(seconds).size).toBeGreaterThan(15)
  })
})

describe('the save at the end', () => {
  const up = [move('INSTANTIATING', 'READY'), move('READY', 'RUNNING')]
  it.each<[string, LabletSession['state_history'], boolean]>([
    ['is made for a session that was in use', [...up, move('RUNNING', 'STOPPING')], true],
    ['is made for one that was only ready', [move('INSTANTIATING', 'READY'), move('READY', 'STOPPING')], true],
    ['is made after housekeeping', [...up, move('RUNNING', 'EXPIRED'), move('EXPIRED', 'STOPPING')], true],
    ['is not made for a lab that never started', [move('INSTANTIATING', 'STOPPING')], false],
    ['is not made while a moved lab starts', [...up, move('RUNNING', 'PENDING'), move('SCHEDULED', 'EXPIRED')], false],
  ])('%s', (_, state_history, expected) => {
    expect(endsWithSave({ state_history })).toBe(expected)
  })
})

describe('a console', () => {
  it.each<[string, string, string, boolean]>([
    ['that shows its prompt is free', 'R1#', 'R1#', false],
    ['that waits for a login is free', 'R1 con0 is now available\n', 'R1 con0 is now available\n', false],
    ['that shows a log message is free', '*Mar  1 00:02:11: %SYS-5: up', '*Mar  1 00:02:11: %SYS-5: up', false],
    ['that never showed anything is free', '', '', false],
    ['that changes is in use', 'R1#', 'R1#\nR1#', true],
    ['in a configuration mode is in use', 'R1#conf t\r\nR1(config-if)#', 'R1#conf t\r\nR1(config-if)#', true],
    ['with half a command is in use', 'R1#sh', 'R1#sh', true],
    ['with half a shell command is in use', 'ann@h:~$ rm -rf', 'ann@h:~$ rm -rf', true],
  ])('%s', (_, before, after, expected) => {
    expect(isConsoleInUse(before, after)).toBe(expected)
  })

  const LOG = '\r\n*Mar  1 00:02:11.123: %LINK-3-UPDOWN: Interface Ethernet0/0, changed state to up\r\n'
  it.each<[string, string, boolean]>([
    [
      'a configuration mode is in use, also below a log message',
      `R1(config-if)#no shutdown\r\nR1(config-if)#${LOG}`,
      true,
    ],
    ['half a command is in use, also below a log message', `R1#clear ip${LOG}`, true],
    ['a configuration mode is in use, also if CML ends each line', 'R1#conf t\nR1(config)#\n', true],
    ['its prompt is free, also below a log message', `R1(config)#end\r\nR1#${LOG}${LOG}`, false],
    [
      'a logout is free',
      `R1(config)#\r\n\r\nR1 con0 is now available\r\n\r\nPress RETURN to get started.\r\n\r\n`,
      false,
    ],
    ['a page of a long answer is in use', 'R1#show ip route\r\nGateway of last resort is not set\r\n --More-- ', true],
    ['a page of ASA is in use', 'asa# show run\r\n: Saved\r\n<--- More --->', true],
    ['a question that Enter answers is in use', 'R1#reload\r\nProceed with reload? [confirm]', true],
    ['a question with a default is in use', 'R1#copy run start\r\nDestination filename [startup-config]? ', true],
    ['a question for yes or no is in use', 'System configuration has been modified. Save? [yes/no]: ', true],
    ['a password prompt is in use', 'R1>enable\r\nPassword: ', true],
    ['an answer that ended is free', 'R1#write\r\nBuilding configuration...\r\n[OK]\r\nR1#', false],
  ])('that shows %s', (_, shown, expected) => {
    expect(isConsoleInUse(shown, shown)).toBe(expected)
  })
})
