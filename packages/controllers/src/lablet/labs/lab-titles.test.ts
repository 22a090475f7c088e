import type { CmlLab } from '@lcm/cloud/cml-labs'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { aLabRecord } from '@lcm/testkit/test-data-builders'
import { beforeAll, describe, expect, it } from 'vitest'
import { aDefinition, labRig } from '../testing/lab-rig.ts'
import { isOurs, isStray, labTitle, sessionInTitle } from './lab-titles.ts'

const NOW = '2026-01-02T03:04:05.000Z'
const LATER = '2026-01-02T03:14:05.000Z'
let session: LabletSession

beforeAll(async () => {
  session = await (await labRig()).book('ls-5gc7thf69kr32')
})

describe('the title of a lab', () => {
  it.each([
    ['Two routers', 'Two routers ls-5gc7thf69kr32'],
    ['', 'two-routers ls-5gc7thf69kr32'],
    ['x'.repeat(64), `${'x'.repeat(47)} ls-5gc7thf69kr32`],
    [`${'x'.repeat(46)} yz`, `${'x'.repeat(46)} ls-5gc7thf69kr32`],
  ])('of %s fits the limit of CML and names the session', (title, expected) => {
    const made = labTitle(session, aDefinition(NOW, { title }))
    expect(made).toBe(expected)
    expect(made.length).toBeLessThanOrEqual(64)
    expect(sessionInTitle(made)).toBe(session.id)
  })

  it('of a foreign lab names no session', () => {
    expect(['ls-1', 'my lab', 'Two routers ls-1 (copy)'].map(sessionInTitle)).toEqual([null, null, null])
  })
})

describe('a lab with the title of a session', () => {
  const lab = (more: Partial<CmlLab> = {}): CmlLab => ({
    ...{ lab_id: 'l-1', title: `x ${session.id}`, owner: 'admin', state: 'STARTED' },
    ...{ node_count: 2, link_count: 0, created: NOW, modified: null },
    ...more,
  })
  const ready = (at: string): LabletSession => ({
    ...session,
    state_history: [{ from: 'INSTANTIATING', to: 'READY', at, because: textReason('') }],
  })

  it('is ours when it is older than the time from which users could copy it', () => {
    expect(isOurs(lab(), session, 'admin')).toBe(true)
    expect(isOurs(lab(), ready(LATER), 'admin')).toBe(true)
    expect(isOurs(lab({ created: LATER }), ready(NOW), 'admin')).toBe(false)
  })

  it('is ours too when it was imported after a move', () => {
    const step = (to: LabletSession['status'], at: string) => ({ from: null, to, at, because: textReason('') })
    const history = [
      step('INSTANTIATING', NOW),
      step('READY', NOW),
      step('PENDING', LATER),
      step('INSTANTIATING', LATER),
    ]
    const moved = { ...session, state_history: history }
    expect(isOurs(lab({ created: LATER }), moved, 'admin')).toBe(true)
    const again = { ...session, state_history: [...history, step('READY', '2026-01-02T03:15:00.000Z')] }
    expect(isOurs(lab({ created: LATER }), again, 'admin')).toBe(true)
    expect(isOurs(lab({ created: '2026-01-02T03:16:00.000Z' }), again, 'admin')).toBe(false)
  })

  it('is left behind when it appears after its session has moved or ended', () => {
    const began = [{ from: null, to: 'INSTANTIATING' as const, at: NOW, because: textReason('') }]
    const record = aLabRecord({ worker_id: session.worker_id ?? '', source: 'DISCOVERY', session_id: null })
    const stray = (more: Partial<LabletSession>, state = 'DEFINED_ON_CORE') =>
      isStray(lab({ state }), {
        record,
        session: { ...session, state_history: began, entered_status_at: LATER, ...more },
        ourName: 'admin',
      })
    expect([stray({ status: 'INSTANTIATING' }), stray({ worker_id: 'w-2' }), stray({ worker_id: null })]).toEqual([
      false,
      true,
      true,
    ])
    expect([stray({ status: 'TERMINATED' }), stray({ worker_id: 'w-2' }, 'STOPPED')]).toEqual([true, false])
  })

  it('is not ours when another user owns it, or it belongs to another session', () => {
    expect(isOurs(lab({ owner: 'ann' }), session, 'admin')).toBe(false)
    expect(isOurs(lab({ title: 'x ls-other' }), session, 'admin')).toBe(false)
  })
})
