import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { liveArea, makeOutput, processSink, type Sink, unwritten, whileRead } from './output.ts'

function captured(isTty: boolean) {
  const written: string[] = []
  const unread = new AbortController().signal
  const sink: Sink = { write: text => written.push(text), isTty, rows: 24, columns: 80, unread }
  return { sink, text: () => written.join('') }
}

it('sends results to stdout and messages to stderr', () => {
  const [stdout, stderr] = [captured(false), captured(false)]
  const output = makeOutput({ stdout: stdout.sink, stderr: stderr.sink, color: true, quiet: false })
  output.out('answer')
  output.note('by the way')
  output.fail('no', ['field: wrong'])
  expect(stdout.text()).toBe('answer\n')
  expect(stderr.text()).toBe('by the way\nerror: no\n  field: wrong\n')
})

it('keeps warnings, questions and errors when quiet', () => {
  const stderr = captured(false)
  const output = makeOutput({ stdout: captured(false).sink, stderr: stderr.sink, color: true, quiet: true })
  output.note('by the way')
  output.warn('beware')
  output.ask('sure? ')
  output.fail('no', [])
  expect(stderr.text()).toBe('beware\nsure? error: no\n')
})

it('prints nothing else that a terminal obeys, wherever it came from', () => {
  const [stdout, stderr] = [captured(true), captured(true)]
  const output = makeOutput({ stdout: stdout.sink, stderr: stderr.sink, color: true, quiet: false })
  const hostile = 'a\u001b[2Jb\u009bc\u202ed'
  output.out(`${output.colors.red('red')}\t${hostile}`)
  output.note(hostile)
  output.warn(hostile)
  output.ask(hostile)
  output.fail(hostile, [hostile])
  liveArea(stdout.sink).draw([hostile])
  expect(stdout.text()).toContain('\u001b[31mred\u001b[39m\ta [2Jb c d\n')
  for (const part of ['\u001b[2J', '\u009b', '\u202e']) expect(stdout.text() + stderr.text()).not.toContain(part)
})

it('uses colors only on terminals, and never with --no-color', () => {
  const colored = (isTty: boolean, color: boolean) =>
    makeOutput({ stdout: captured(isTty).sink, stderr: captured(true).sink, color, quiet: false }).colors.red('x')
  expect(colored(true, true)).toBe('\u001b[31mx\u001b[39m')
  expect(colored(true, false)).toBe('x')
  expect(colored(false, true)).toBe('x')
})

it('rewrites a live area in place', () => {
  const { sink, text } = captured(true)
  const area = liveArea(sink)
  area.draw(['one', 'two'])
  area.draw(['three'])
  area.clear()
  expect(text()).toBe(
    '\r\u001b[0J\u001b[?7lone\ntwo\n\u001b[?7h\u001b[2A\r\u001b[0J\u001b[?7lthree\n\u001b[?7h\u001b[1A\r\u001b[0J',
  )
})

it('stops writing once its reader is gone, and aborts endless writers', async () => {
  const lines: string[] = []
  const pipe = new Writable({
    autoDestroy: false,
    write(chunk, _, done) {
      lines.push(String(chunk))
      done(Object.assign(new Error('closed'), { code: 'EPIPE' }))
    },
  })
  const sink = processSink(pipe)
  const endless = whileRead(new AbortController().signal, sink)
  sink.write('one')
  await new Promise<void>(resolve => endless.addEventListener('abort', () => resolve()))
  sink.write('two')
  expect(lines).toEqual(['one'])
  expect([sink.isTty, sink.rows, sink.columns]).toEqual([false, 0, 0])
})

it('reports a full disk without ending the process or its work', async () => {
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  const sink = processSink(new Writable({ write: (_chunk, _encoding, done) => done(full) }))
  sink.write('one')
  await new Promise<void>(resolve => sink.unread.addEventListener('abort', () => resolve()))
  expect(unwritten(sink)).toBe('ENOSPC')
  sink.write('two')
})

it('does not fail when the reader has left', async () => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  const sink = processSink(new Writable({ write: (_chunk, _encoding, done) => done(gone) }))
  expect(unwritten(sink)).toBeNull()
  sink.write('one')
  await new Promise<void>(resolve => sink.unread.addEventListener('abort', () => resolve()))
  expect(unwritten(sink)).toBeNull()
})
