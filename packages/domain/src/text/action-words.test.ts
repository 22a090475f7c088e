import { expect, it } from 'vitest'
import { actionWords, planCounts } from './action-words.ts'

it.each([
  ['nothing', 'no change'],
  ['write', 'noted'],
  ['survey', 'visit'],
  ['skipped_not_idle', 'not paused yet'],
  ['start_lab', 'start lab'],
  ['launch', 'launch'],
  ['manual', 'needs a person'],
  ['health_down', 'became DOWN'],
])('%s is shown as: %s', (action, words) => {
  expect(actionWords(action)).toBe(words)
})

it.each([
  [[], 'nothing to do'],
  [['launch'], '1 thing to do'],
  [['launch', 'stop', 'wait'], '2 things to do, 1 waiting'],
  [['retry', 'manual'], '1 waiting, 1 blocked'],
])('a plan of %j is: %s', (actions, text) => {
  expect(planCounts(actions.map(action => ({ action })))).toBe(text)
})
