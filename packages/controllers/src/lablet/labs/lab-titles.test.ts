import type { CmlLab } from '@lcm/cloud/cml-labs'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { beforeAll, describe, expect, it } from 'vitest'
import { aDefinition, labRig } from '../testing/lab-rig.ts'
import { isOurs, labTitle, sessionInTitle } from './lab-titles.ts'

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

  it('is not ours when another user owns it, or it belongs to another session', () => {
    expect(isOurs(lab({ owner: 'ann' }), session, 'admin')).toBe(false)
    expect(isOurs(lab({ title: 'x ls-other' }), session, 'admin')).toBe(false)
  })
})
