import { describe, expect, it } from 'vitest'
import { labeledBar, withLabelSpace } from './labeled-bar.ts'

it('a wide bar contains its label', () => {
  expect(labeledBar(0.5, 0.25)).toEqual({ from: 0.5, to: 0.75, labelSide: 'inside' })
})

it('a narrow bar has its label beside itself, within the timeline', () => {
  expect(labeledBar(0.5, 0.01)).toMatchObject({ from: 0.5, labelSide: 'after' })
  expect(labeledBar(0.5, 0.01).to).toBeGreaterThan(0.6)
  const last = labeledBar(0.98, 0.02)
  expect(last).toMatchObject({ to: 1, labelSide: 'before' })
  expect(last.from).toBeLessThan(0.9)
})

describe('the label of a narrow bar', () => {
  const bar = (lane: number, left: number) => ({ lane, left, width: 0.0625, ...labeledBar(left, 0.0625) })
  const spacesOf = (...bars: ReturnType<typeof bar>[]) => withLabelSpace(bars).map(({ labelSpace }) => labelSpace)

  it('may be as long as the rest of its lane', () => {
    expect(spacesOf(bar(0, 0.25), bar(1, 0.5))).toEqual([0.6875, 0.4375])
    expect(spacesOf(bar(0, 0.9375))).toEqual([0.9375])
  })

  it('ends where the next bar of its lane begins', () => {
    expect(spacesOf(bar(0, 0.25), bar(0, 0.5))).toEqual([0.1875, 0.4375])
    expect(spacesOf(bar(0, 0), { ...bar(0, 0.5), labelSide: 'inside' })[0]).toBe(0.4375)
  })

  it('leaves space for the label before the next bar', () => {
    const [after = 0, before = 0] = spacesOf(bar(0, 0.25), bar(0, 0.9375))
    expect([after, before]).toEqual([expect.closeTo(0.625 - 1 / 7), expect.closeTo(0.625 - 1 / 7)])
    expect(after).toBeGreaterThan(1 / 7)
  })
})
