import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { ENV, LCM } from './lcm-process.ts'

export interface Terminal {
  /** Everything that was written to it. */
  written(): string
  /** The lines of what was drawn last, without colors. */
  screen(): string[]
  /** Resolves when what it shows is so; rejects when the command ends before that. */
  until(isSo: (screen: string) => boolean): Promise<void>
  type(keys: string): void
  resize(rows: number, columns: number): Promise<void>
  readonly ended: Promise<number | null>
  /** Takes the terminal away, and the command with it if it still runs. */
  close(): void
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are terminal control sequences.
const CONTROLS = /\u001b\[[0-9;?]*[A-Za-z]/g
/** What both live views write before a frame: to the top of the screen, or back to where the last frame began. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are terminal control sequences.
const FRAME = /\u001b\[H|\u001b\[\d+A/

/** Runs `lcm` on a terminal of its own, which `script` lends. */
export function onTerminal(args: readonly string[], rows: number, columns: number): Terminal {
  const command = [process.execPath, LCM, ...args].map(quoted).join(' ')
  const line = `stty rows ${rows} cols ${columns}; tty; exec ${command}`
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    env: { ...ENV, SHELL: '/bin/sh', TERM: 'xterm' },
  })
  let text = ''
  let notify: () => void = () => undefined
  const ended = once(child, 'close').then(([code]) => code)
  child.stdout.setEncoding('utf8').on('data', more => {
    text += more
    notify()
  })
  const screen = () => (text.split(FRAME).at(-1) ?? '').replaceAll(CONTROLS, '').trimEnd().split(/\r?\n/)
  return {
    written: () => text,
    screen,
    async until(isSo) {
      const isOver = ended.then(code => Promise.reject(new Error(`it ended with ${code}: ${text}`)))
      // An exit after that is not a failure.
      isOver.catch(() => undefined)
      while (!isSo(screen().join('\n'))) {
        const news = new Promise<void>(resolve => {
          notify = resolve
        })
        await Promise.race([news, isOver])
      }
    },
    type: keys => void child.stdin.write(keys),
    async resize(toRows, toColumns) {
      const device = /\/dev\/pts\/\d+/.exec(text)?.[0] ?? 'no terminal'
      const stty = spawn('stty', ['-F', device, 'rows', String(toRows), 'cols', String(toColumns)])
      const [code] = await once(stty, 'close')
      if (code !== 0) throw new Error(`${device} can't be resized`)
    },
    ended,
    close: () => void child.kill('SIGTERM'),
  }
}
