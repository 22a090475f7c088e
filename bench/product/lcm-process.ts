import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const LCM = fileURLToPath(new URL('../../dist/lcm.mjs', import.meta.url))

export interface LcmProcess {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

const living = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Runs the built product. Its processes are killed when the bench fails or is stopped. */
export function spawnLcm(
  args: readonly string[],
  { env, nodeArgs = [] }: { env: NodeJS.ProcessEnv; nodeArgs?: readonly string[] },
) {
  const child = spawn(process.execPath, [...nodeArgs, LCM, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  living.add(child)
  child.once('exit', () => living.delete(child))
  return child
}

export async function stopped(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  if (living.has(child)) await once(child, 'exit')
}

/** `lcm serve`, once it listens. */
export async function startService(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<LcmProcess> {
  const child = spawnLcm(['serve', ...args], { env })
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (text: Buffer) => {
      output = `${output}${text}`.slice(-4_000)
      const at = / listens on (http:\S+)/.exec(output)?.[1]
      if (at !== undefined) resolve(at)
    })
    child.on('exit', code => reject(new Error(`lcm serve ${args[0]} ended with ${code}: ${output}`)))
  })
  return { url, pid: child.pid ?? 0, stop: () => stopped(child) }
}
