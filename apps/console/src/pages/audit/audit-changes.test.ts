import { expect, it } from 'vitest'
import { timestampText } from '../../state/time-format.ts'
import { changesOf } from './audit-changes.ts'

const changes = (before: object, after: object) => changesOf({ before: { ...before }, after: { ...after } })

it('lists changes field by field', () => {
  expect(changes({ desired_status: 'RUNNING', gone: 1 }, { desired_status: 'STOPPED', protected: true })).toEqual([
    { name: 'desired status', before: 'RUNNING', after: 'STOPPED' },
    { name: 'gone', before: '1', after: null },
    { name: 'protected', before: null, after: 'yes' },
  ])
})

it('lists only differences of nested objects', () => {
  const labels = { course: 'bgp', step: 'one' }
  expect(changes({ labels }, { labels: { ...labels, step: 'two', new_one: 'x' } })).toEqual([
    { name: 'labels: step', before: 'one', after: 'two' },
    { name: 'labels: new one', before: null, after: 'x' },
  ])
  expect(changes({ policy: { idle: { minutes: 5 } } }, { policy: null })).toEqual([
    { name: 'policy', before: 'idle: minutes 5', after: 'none' },
  ])
  expect(changes({ same: { a: [1] } }, { same: { a: [1] } })).toEqual([])
})

it('formats values and shortens long ones', () => {
  const at = '2026-01-02T03:04:05.000Z'
  const after = { text: '', off: false, none: null, list: ['a', 'b'], empty: [], bare: {}, at, deep: [{ node: 'r1' }] }
  expect(changes({}, after).map(change => change.after)).toEqual([
    'empty',
    'no',
    'none',
    'a, b',
    'none',
    'none',
    timestampText(Date.parse(at)),
    'node r1',
  ])
  expect(changes({}, { long: 'e'.repeat(500) })[0]?.after).toBe(`${'e'.repeat(120)}…`)
})
