import { expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { admissionNote, admissionText } from './admission-text.ts'

const SINCE = '2026-11-24T14:00:00.000Z'
const LOST = reason('capacity_lost', { since: SINCE, cause: reason('capacity_booked_no_template') })

it.each([
  ['admitted', null, 'Capacity is promised', ''],
  ['best_effort', null, 'Best effort: it gets the capacity that promised sessions leave', 'best effort'],
  [
    'admitted',
    LOST,
    'At risk: the capacity that it was promised is gone: all workers are booked at that time, and no template is enabled; ' +
      'enable a template, create a worker or book another time',
    'at risk',
  ],
  [
    'best_effort',
    reason('capacity_not_promised', { since: SINCE, cause: null }),
    'Best effort: it was booked before LCM promised capacity, and none is left for it',
    'best effort',
  ],
] as const)('%s: %j', (kind, at_risk, sentence, note) => {
  expect(admissionText({ kind, at_risk })).toBe(sentence)
  expect(admissionNote({ kind, at_risk })).toBe(note)
})
