import { NO_WRAP, type Sink, WRAP } from './output.ts'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[2K'
const CLEAR_BELOW = '\u001b[J'

export interface Screen {
  /** Shows these lines from the top of the terminal; those that do not fit are left out. */
  draw(lines: readonly string[]): void
  /** Gives the terminal back as it was. */
  close(): void
}

/** A terminal's other screen: what stood there before comes back when it is closed. */
export function openScreen(sink: Sink): Screen {
  sink.write(`${ENTER}${NO_WRAP}`)
  let shown = ''
  return {
    draw(lines) {
      const fitting = sink.rows > 0 ? lines.slice(0, sink.rows) : lines
      // What is old is cleared before a line is written: behind a full one the cursor still stands on its last character.
      const text = fitting.map(line => `${CLEAR_LINE}${line}`).join('\r\n')
      const below = fitting.length < sink.rows ? `\r\n${CLEAR_BELOW}` : ''
      // After another size the terminal may have moved what it shows.
      const frame = `${sink.rows}x${sink.columns} ${text}`
      if (frame !== shown) sink.write(`${HOME}${text}${below}`)
      shown = frame
    },
    close: () => sink.write(`${WRAP}${LEAVE}`),
  }
}
