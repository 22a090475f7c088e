import { expect, it } from 'vitest'
import { sentenceText } from './sentence.tsx'

it('begins with a capital letter and ends with one period', () => {
  expect(sentenceText('raise the limit')).toBe('Raise the limit.')
  expect(sentenceText('CML does not answer. ')).toBe('CML does not answer.')
})
