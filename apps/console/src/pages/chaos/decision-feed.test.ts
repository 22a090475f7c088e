import { expect, it } from 'vitest'
import { aDecision } from '../../testing/decision-builder.ts'
import { feedOf } from './decision-feed.ts'

it('user actions and decisions are listed newest first', () => {
  const userAction = { id: 'x', atMs: Date.parse('2026-01-02T03:04:06.000Z'), text: 'stopped' }
  const later = aDecision({ id: 'd-2', at: '2026-01-02T03:04:07.000Z' })
  const feed = feedOf([userAction], [later, aDecision()])
  expect(feed.map(item => ('userAction' in item ? item.userAction.id : item.decision.id))).toEqual(['d-2', 'x', 'd-1'])
})
