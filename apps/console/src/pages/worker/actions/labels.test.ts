import { expect, it } from 'vitest'
import { labelsOf, labelsText } from './labels.ts'

it('is one label a line, there and back', () => {
  const labels = { environment: 'prod', note: 'a=b c' }
  expect(labelsText(labels)).toBe('environment=prod\nnote=a=b c')
  expect(labelsOf(labelsText(labels))).toEqual({ labels, wrong: [] })
})

it('tells the lines that are none', () => {
  expect(labelsOf(' environment = lab \n\nnonsense\n=x')).toEqual({
    labels: { environment: 'lab' },
    wrong: ['nonsense', '=x'],
  })
})
