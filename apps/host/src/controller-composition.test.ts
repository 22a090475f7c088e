import { expect, it } from 'vitest'
import { awaited } from './controller-composition.ts'

const STANDBY = { isEnding: false, around: null, unheard: null, loop: { running: false, last_sweep: null } }

it.each([
  ['nothing as a standby', {}, null],
  ['its first listing as a new leader', { loop: { running: true, last_sweep: null } }, 'the end of its first listing'],
  ['nothing once it has seen all', { loop: { running: true, last_sweep: '2026-01-01T00:00:00.000Z' } }, null],
  [
    'the API before that',
    { unheard: 'who are you?', loop: { running: true, last_sweep: null } },
    'the API: who are you?',
  ],
  ['etcd before the API', { around: 'etcd', unheard: 'it has not answered yet' }, 'etcd'],
])('a controller waits for %s', (_, differing, expected) => {
  expect(awaited({ ...STANDBY, ...differing })).toBe(expected)
})

it('a controller that was asked to end says only that', () => {
  expect(awaited({ ...STANDBY, isEnding: true, around: 'etcd' })).toContain('asked to end')
})
