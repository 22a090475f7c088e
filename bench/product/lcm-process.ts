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

/** Runs the product as it was built. A bench that breaks or is stopped leaves nothing behind. */
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
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (text: Buffer) => {
      said = `${said}${text}`.slice(-4_000)
      const at = / listens on (http:\S+)/.exec(said)?.[1]
      if (at !== undefined) resolve(at)
    })
    child.on('exit', code => reject(new Error(`lcm serve ${args[0]} ended with ${code}: ${said}`)))
  })
  return { url, pid: child.pid ?? 0, stop: () => stopped(child) }
}
