import { expect, it } from 'vitest'
import { openScreen } from './screen.ts'

function aTerminal(rows: number) {
  const written: string[] = []
  const size = { rows, columns: 10 }
  const sink = {
    write: (text: string) => written.push(text),
    isTty: true,
    unread: new AbortController().signal,
    get rows() {
      return size.rows
    },
    get columns() {
      return size.columns
    },
  }
  return { screen: openScreen(sink), written, size }
}

it('clears a line before it is written, so that a full one keeps its last character', () => {
  const { screen, written } = aTerminal(2)
  screen.draw(['0123456789', 'b', 'too much'])
  expect(written.at(-1)).toBe('\u001b[H\u001b[2K0123456789\r\n\u001b[2Kb')
})

it('clears the lines below when there are any', () => {
  const { screen, written } = aTerminal(3)
  screen.draw(['a', 'b'])
  expect(written.at(-1)).toBe('\u001b[H\u001b[2Ka\r\n\u001b[2Kb\r\n\u001b[J')
})

it('writes only changed lines, or everything after a resize', () => {
  const { screen, written, size } = aTerminal(3)
  screen.draw(['a'])
  screen.draw(['a'])
  expect(written).toHaveLength(2)
  size.columns = 5
  screen.draw(['a'])
  expect(written).toHaveLength(3)
})

it('restores the terminal', () => {
  const { screen, written } = aTerminal(3)
  screen.close()
  expect(written.at(-1)).toBe('\u001b[?7h\u001b[?25h\u001b[?1049l')
})
