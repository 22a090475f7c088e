import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { aLabRecord } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { availableActions, needsConfirmation, nodesText, typedName } from './lab-actions.ts'

/** A running lab without a session. */
const aLab = (changes: Partial<LabRecord> = {}) =>
  aLabRecord({ title: 'two routers', owner: 'ann', lab_id: 'b3f5', source: 'DISCOVERY', ...changes })

const session = (status: LabletSession['status']) => ({ status }) as LabletSession
const actions = (...given: Parameters<typeof availableActions>) =>
  availableActions(...given).map(({ action }) => action)

describe('a lab', () => {
  it('offers the actions of its status', () => {
    expect(actions(aLab(), undefined)).toEqual(['stop', 'delete'])
    expect(actions(aLab({ status: 'STOPPED' }), undefined)).toEqual(['start', 'wipe', 'delete'])
    expect(actions(aLab({ status: 'ORPHANED' }), undefined)).toEqual([])
  })

  it('has disabled actions while a session uses it or an action is pending', () => {
    const used = aLab({ session_id: 'ls-1' })
    expect(availableActions(used, session('RUNNING'))[0]?.disabledReason).toContain('cancel')
    expect(availableActions(used, session('ARCHIVED'))[0]?.disabledReason).toBeNull()
    const pending = { action: 'stop', by: 'ann', at: '2026-01-02T03:04:05.000Z', attempts: 1, error: null } as const
    expect(availableActions(aLab({ pending_action: pending }), undefined)[0]?.disabledReason).toBe(
      'stop was already requested',
    )
    const others = availableActions(aLab({ pending_action: pending }), undefined).filter(
      ({ action }) => action !== 'stop',
    )
    expect(others).toEqual([{ action: 'delete', disabledReason: null }])
    expect(
      availableActions(aLab({ pending_action: { ...pending, error: 'no' } }), undefined)[0]?.disabledReason,
    ).toBeNull()
  })

  it('needs a confirmation to wipe or delete, by title or id', () => {
    const requests = (['start', 'stop', 'wipe', 'delete'] as const).map(action => needsConfirmation(aLab(), action))
    expect(requests).toEqual([false, false, true, true])
    expect(needsConfirmation(aLab({ session_id: 'ls-1' }), 'stop')).toBe(true)
    expect(typedName(aLab())).toBe('two routers')
    expect(typedName(aLab({ title: 'x'.repeat(41) }))).toBe('lr-1')
    expect(typedName(aLab({ title: ' ' }))).toBe('lr-1')
    expect(typedName(aLab({ title: ' of Änne 実験 ' }))).toBe('of Änne 実験')
    for (const title of ['two  spaces', 'a\u00a0b', 'a\tb', 'zero\u200bwidth'])
      expect(typedName(aLab({ title }))).toBe('lr-1')
  })

  it('counts its nodes by state, if known', () => {
    const node = (state: string) => ({ label: state, node_definition: 'alpine', state })
    expect(nodesText(aLab({ nodes: [node('STOPPED'), node('BOOTED'), node('BOOTED')] }))).toBe('2 BOOTED, 1 STOPPED')
    expect(nodesText(aLab())).toBeNull()
  })
})
