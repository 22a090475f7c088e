import { expect, it } from 'vitest'
import { capturedShell } from '../testing/captured-shell.ts'
import { makeOutput } from './output.ts'
import { progress } from './progress.ts'

const started = (options: { isTty: boolean; quiet?: boolean }) => {
  const captured = capturedShell({ isTty: options.isTty })
  const { stdout, stderr } = captured.shell
  const output = makeOutput({ stdout, stderr, color: false, quiet: options.quiet ?? false })
  return { ...captured, line: progress(output, captured.clock) }
}

it('prints one plain line per change where there is no terminal', async () => {
  const { line, clock, errLines } = started({ isTty: false })
  line.show('PENDING')
  await clock.advance(72_000)
  line.show('PENDING')
  line.show('STARTING')
  line.end()
  expect(errLines()).toEqual(['    0s  PENDING', ' 1m12s  STARTING'])
})

it('rewrites one line with a spinner and the elapsed time on a terminal', async () => {
  const { line, clock, err } = started({ isTty: true })
  line.show('metal-1 is STARTING')
  await clock.advance(1_000)
  expect(err()).toContain('⠋ metal-1 is STARTING (0s)\n')
  expect(err()).toContain('metal-1 is STARTING (1s)\n')
  line.end()
  const ended = err()
  expect(ended.endsWith('\u001b[1A\r\u001b[0J')).toBe(true)
  await clock.advance(1_000)
  expect(err()).toBe(ended)
})

it('prints nothing when quiet, and escapes control characters', async () => {
  const quiet = started({ isTty: true, quiet: true })
  quiet.line.show('PENDING')
  expect(quiet.err()).toBe('')
  const plain = started({ isTty: false })
  plain.line.show('a\u001b[2Jb')
  expect(plain.err()).toBe('    0s  a [2Jb\n')
})
