import { expect, it } from 'vitest'
import { labeledBar } from './labeled-bar.ts'

it('a wide bar contains its label', () => {
  expect(labeledBar(0.5, 0.25)).toEqual({ from: 0.5, to: 0.75, isBefore: false })
})

it('a narrow bar has its label beside itself, within the timeline', () => {
  expect(labeledBar(0.5, 0.01)).toMatchObject({ from: 0.5, isBefore: false })
  expect(labeledBar(0.5, 0.01).to).toBeGreaterThan(0.6)
  const last = labeledBar(0.98, 0.02)
  expect(last).toMatchObject({ to: 1, isBefore: true })
  expect(last.from).toBeLessThan(0.9)
})
