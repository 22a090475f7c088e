import type { Clock } from '@lcm/runtime/clock'
import { formatDuration } from './duration.ts'
import { liveArea, type Output } from './output.ts'
import { printable } from './table.ts'

export interface Progress {
  show(text: string): void
  /** Elapsed time, for the final message. */
  elapsed(): string
  end(): void
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100

/** Shows progress on standard error: one live line on a terminal, otherwise one line per change. */
export function progress(output: Output, clock: Clock): Progress {
  const startedMs = clock.monotonic()
  const elapsed = () => formatDuration(clock.monotonic() - startedMs)
  if (output.quiet) return { show: () => undefined, elapsed, end: () => undefined }
  return output.stderr.isTty ? liveLine(output, clock, elapsed) : plainLines(output, elapsed)
}

function liveLine({ stderr }: Output, clock: Clock, elapsed: () => string): Progress {
  const area = liveArea(stderr)
  let text = ''
  let frame = 0
  let cancel: () => void = () => undefined
  const draw = () => {
    cancel()
    area.draw([`${SPINNER[frame++ % SPINNER.length]} ${text} (${elapsed()})`])
    cancel = clock.after(FRAME_MS, draw)
  }
  return {
    show(next) {
      text = printable(next)
      draw()
    },
    elapsed,
    end() {
      cancel()
      area.clear()
    },
  }
}

function plainLines(output: Output, elapsed: () => string): Progress {
  let last = ''
  return {
    show(next) {
      const text = printable(next)
      if (text !== last) output.note(`${elapsed().padStart(6)}  ${text}`)
      last = text
    },
    elapsed,
    end: () => undefined,
  }
}
