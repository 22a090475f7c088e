import { expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { admissionNote, admissionText } from './admission-text.ts'

it.each([
  ['admitted', null, 'Capacity is promised', ''],
  ['best_effort', null, 'Best effort: it gets the capacity that promised sessions leave', 'best effort'],
  [
    'admitted',
    reason('capacity_lost'),
    'At risk: the capacity that was promised is gone: a worker, a license or a limit changed since; add capacity or book another time',
    'at risk',
  ],
] as const)('%s: %j', (kind, at_risk, sentence, note) => {
  expect(admissionText({ kind, at_risk })).toBe(sentence)
  expect(admissionNote({ kind, at_risk })).toBe(note)
})
