import { expect, it } from 'vitest'
import { actionWords } from './decision-words.ts'

it.each([
  ['nothing', 'leave it'],
  ['write', 'noted'],
  ['survey', 'visit'],
  ['skipped_not_idle', 'not paused yet'],
  ['start_lab', 'start lab'],
  ['launch', 'launch'],
])('%s is told as: %s', (action, words) => {
  expect(actionWords(action)).toBe(words)
})
