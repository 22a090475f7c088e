import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { aLabRecord } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import { needsConfirmation, nodesText, offersOf, typedName } from './lab-actions.ts'

/** A lab of nobody's that runs. */
const aLab = (changes: Partial<LabRecord> = {}) =>
  aLabRecord({ title: 'somebody else', owner: 'ann', lab_id: 'b3f5', source: 'DISCOVERY', ...changes })

const session = (status: LabletSession['status']) => ({ status }) as LabletSession
const acts = (...given: Parameters<typeof offersOf>) => offersOf(...given).map(({ act }) => act)

describe('a lab', () => {
  it('may be asked what fits its status', () => {
    expect(acts(aLab(), undefined)).toEqual(['stop', 'delete'])
    expect(acts(aLab({ status: 'STOPPED' }), undefined)).toEqual(['start', 'wipe', 'delete'])
    expect(acts(aLab({ status: 'ORPHANED' }), undefined)).toEqual([])
  })

  it('is let be while a session uses it, or something is asked already', () => {
    const used = aLab({ session_id: 'ls-1' })
    expect(offersOf(used, session('RUNNING'))[0]?.bar).toContain('cancel')
    expect(offersOf(used, session('ARCHIVED'))[0]?.bar).toBeNull()
    const asked = { action: 'stop', by: 'ann', at: '2026-01-02T03:04:05.000Z', attempts: 1, error: null } as const
    expect(offersOf(aLab({ pending_action: asked }), undefined)[0]?.bar).toBe('It is asked to stop already')
    const others = offersOf(aLab({ pending_action: asked }), undefined).filter(({ act }) => act !== 'stop')
    expect(others).toEqual([{ act: 'delete', bar: null }])
    expect(offersOf(aLab({ pending_action: { ...asked, error: 'no' } }), undefined)[0]?.bar).toBeNull()
  })

  it('is lost on purpose only', () => {
    const asks = (['start', 'stop', 'wipe', 'delete'] as const).map(act => needsConfirmation(aLab(), act))
    expect(asks).toEqual([false, false, true, true])
    expect(needsConfirmation(aLab({ session_id: 'ls-1' }), 'stop')).toBe(true)
    expect(typedName(aLab())).toBe('somebody else')
    expect(typedName(aLab({ title: 'x'.repeat(41) }))).toBe('lr-1')
    expect(typedName(aLab({ title: ' ' }))).toBe('lr-1')
    expect(typedName(aLab({ title: ' of Änne 実験 ' }))).toBe('of Änne 実験')
    for (const title of ['two  spaces', 'a\u00a0b', 'a\tb', 'zero\u200bwidth'])
      expect(typedName(aLab({ title }))).toBe('lr-1')
  })

  it('tells what its nodes do, if somebody looked', () => {
    const node = (state: string) => ({ label: state, node_definition: 'alpine', state })
    expect(nodesText(aLab({ nodes: [node('STOPPED'), node('BOOTED'), node('BOOTED')] }))).toBe('2 BOOTED, 1 STOPPED')
    expect(nodesText(aLab())).toBeNull()
  })
})
