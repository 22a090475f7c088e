import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const LCM = fileURLToPath(new URL('../../../../../dist/lcm.mjs', import.meta.url))

/** The developer's own environment may name a running LCM. */
const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin' }

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs `lcm` as it was built, with `input` on its standard input, to its end. */
export async function runLcm(args: readonly string[], input = ''): Promise<Ended> {
  const child = spawn(process.execPath, [LCM, ...args], { env: ENV, stdio: 'pipe' })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    output.err += text
  })
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, ...output }
}

/** Runs `lcm` as it was built, for a reader that leaves after the first output. */
export async function runUnread(args: readonly string[]): Promise<Omit<Ended, 'out'>> {
  const child = spawn(process.execPath, [LCM, ...args], { env: ENV, stdio: ['ignore', 'pipe', 'pipe'] })
  let err = ''
  child.stdout.once('data', () => child.stdout.destroy())
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  const [code] = await once(child, 'close')
  return { code, err }
}

/** Runs `lcm up`; resolves once it has welcomed people. */
export async function startLcm(dataDir: string, speed: number): Promise<ChildProcess> {
  const args = ['up', '--port', '0', '--data', dataDir, '--speed', String(speed)]
  const child = spawn(process.execPath, [LCM, ...args], { env: ENV, stdio: ['ignore', 'pipe', 'pipe'] })
  await new Promise<void>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', text => {
      output += text
      if (output.includes('Ctrl-C')) resolve()
    })
    child.on('exit', code => reject(new Error(`it ended with ${code}: ${output}`)))
  })
  return child
}

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
