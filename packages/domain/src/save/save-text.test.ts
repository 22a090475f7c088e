import { describe, expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { NEVER_SAVED } from '../session/lablet-session.ts'
import type { SavedNode } from './save.ts'
import { lastSaveText, savedNodesText } from './save-text.ts'

const saved = (label: string): SavedNode => ({ label, outcome: 'saved', reason: null })
const skipped = (label: string, because = reason('console_in_use')): SavedNode => ({
  ...{ label, outcome: 'skipped' },
  reason: because,
})

describe('the nodes of a save', () => {
  it.each<[string, readonly SavedNode[]]>([
    ['topology', []],
    ['2 of 2 nodes', [saved('r1'), saved('r2')]],
    ['1 of 2 nodes; r2: its console is in use', [saved('r1'), skipped('r2')]],
    [
      '0 of 3 nodes; r1, r2: its console is in use; r3: the node is STOPPED',
      [skipped('r1'), skipped('r2'), skipped('r3', reason('node_not_booted', { state: 'STOPPED' }))],
    ],
    [
      '0 of 7 nodes; r0, r1, r2, r3, r4 and 2 more: its console is in use',
      Array.from({ length: 7 }, (_, n) => skipped(`r${n}`)),
    ],
  ])('%s', (text, nodes) => {
    expect(savedNodesText(nodes)).toBe(text)
  })
})

describe('the last save of a session', () => {
  const newest = { nodes: [saved('r1'), skipped('r3')], created_at: '10:00' }
  const tried = { ...NEVER_SAVED, tried_at: '10:10', save_id: 'sv-1' }
  const failed = { ...tried, outcome: reason('save_failed', { error: 'no answer' }) }
  it.each([
    ['is none before the first attempt', NEVER_SAVED, null, null],
    ['waits', { ...NEVER_SAVED, requested_at: '10:11' }, null, 'save requested <10:11>'],
    [
      'counts from the attempt when nothing has changed since',
      { ...tried, outcome: reason('save_unchanged') },
      newest,
      'saved <10:10>, 1 of 2 nodes; r3: its console is in use',
    ],
    [
      'stays when a later attempt fails',
      failed,
      newest,
      'the lab could not be saved: no answer (<10:10>); saved <10:00>, 1 of 2 nodes; r3: its console is in use',
    ],
    ['is none when all attempts failed', failed, null, 'the lab could not be saved: no answer (<10:10>)'],
  ])('%s', (_, state, save, text) => {
    expect(lastSaveText(state, save, at => `<${at}>`)).toBe(text)
  })
})
