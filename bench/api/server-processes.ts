import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** On the disk of the checkout: a temporary folder may be in memory. */
const SCRATCH = join(ROOT, '.cache', 'bench')
export const TOKEN = 'a-token-of-the-bench'
export const CONTROLLER_TOKEN = `${TOKEN}-of-a-controller`

/** A folder that is deleted when the process ends. */
export function scratchFolder(): string {
  mkdirSync(SCRATCH, { recursive: true })
  const folder = mkdtempSync(join(SCRATCH, 'api-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Served {
  readonly port: number
  readonly pid: number
  cpuMs(): Promise<number>
  stop(): Promise<void>
}

/** The embedded control plane in a separate process, so that the measurement does not use its CPU time. */
export const startApi = (folder: string, store: string, consoleDir?: string): Promise<Served> =>
  start(folder, 'api-server', [store, TOKEN, ...(consoleDir === undefined ? [] : [consoleDir])])
export const startBare = (folder: string): Promise<Served> => start(folder, 'bare-server', [])

async function start(folder: string, name: string, args: readonly string[]): Promise<Served> {
  const file = await bundled(folder, name)
  const child = fork(file, args, { execArgv: profiling(name), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const { port } = await answerOf<{ port: number }>(child)
  return {
    port,
    pid: child.pid ?? 0,
    async cpuMs() {
      child.send('cpu')
      return (await answerOf<{ cpuMs: number }>(child)).cpuMs
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** `BENCH_CPU_PROF=1` writes a profile of the API beside the scratch folders. */
const profiling = (name: string): string[] =>
  name === 'api-server' && process.env.BENCH_CPU_PROF !== undefined ? ['--cpu-prof', '--cpu-prof-dir', SCRATCH] : []

/** As in `tools/bundles/external-packages.mjs`. */
const NOT_IN_PRODUCT = ['@photostructure/sqlite', 'mongodb']

/** Bundled like the product, because code that is translated at load is slower. */
async function bundled(folder: string, name: string): Promise<string> {
  const file = join(folder, `${name}.mjs`)
  const entry = join(ROOT, 'bench', 'api', `${name}.ts`)
  const bundle = await rolldown({ cwd: ROOT, input: entry, platform: 'node', external: NOT_IN_PRODUCT })
  await bundle.write({ file, format: 'esm', codeSplitting: false })
  await bundle.close()
  return file
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const heard = new AbortController()
  const ended = once(child, 'exit', heard).then(([code]) => Promise.reject(new Error(`it ended with ${code}`)))
  try {
    const [message] = await Promise.race([once(child, 'message', heard), ended])
    return message
  } finally {
    heard.abort()
    ended.catch(() => undefined)
  }
}
