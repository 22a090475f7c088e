import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const LCM = fileURLToPath(new URL('../../../../../dist/lcm.mjs', import.meta.url))

/** The developer's own environment may name a running LCM. */
export const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin' }

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs `lcm` as it was built, with `input` on its standard input, to its end. */
export async function runLcm(args: readonly string[], input = '', env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const child = spawn(process.execPath, [LCM, ...args], { env: { ...ENV, ...env }, stdio: 'pipe' })
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
