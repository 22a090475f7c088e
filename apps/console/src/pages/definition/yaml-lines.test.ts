import { ApiError } from '@lcm/client/client'
import { describe, expect, it } from 'vitest'
import { gutterOf, rangeOfLine, wrongLines } from './yaml-lines.ts'

describe('a line that is wrong', () => {
  it('comes from the refusal', () => {
    const problem = { type: '', title: '', status: 422, detail: '', code: 'topology_invalid' }
    const errors = [
      { path: 'body.topology.nodes.1', message: 'twice', line: 10 },
      { path: 'body.name', message: 'no name' },
    ]
    expect([...wrongLines(new ApiError({ ...problem, errors }))]).toEqual([[10, 'twice']])
    expect(wrongLines(new Error('gone')).size).toBe(0)
  })

  it('is found in the text, even if it is the last or beyond the end', () => {
    const text = 'one\ntwo\nthree'
    const lineOf = (line: number) => text.slice(...rangeOfLine(text, line))
    expect([1, 2, 3, 9].map(lineOf)).toEqual(['one', 'two', 'three', 'three'])
  })

  it('is highlighted in the line numbers', () => {
    expect(gutterOf('a\nb\nc\nd', new Set([3]))).toEqual([
      { text: '1\n2\n', isWrong: false },
      { text: '3\n', isWrong: true },
      { text: '4\n', isWrong: false },
    ])
    expect(gutterOf('', new Set([1]))).toEqual([{ text: '1\n', isWrong: true }])
  })
})
