import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A third-party AWS mock, in memory on the loopback interface. */
export interface MotoServer {
  readonly url: string
  /** Deletes everything that was created since it started. */
  reset(): Promise<void>
  close(): Promise<void>
}

const TOOL = fileURLToPath(new URL('../../../../tools/interop/moto.mjs', import.meta.url))

/** Credentials of the owner of moto's only account. */
export const MOTO_CREDENTIALS = { accessKeyId: 'AKIDMOTO', secretAccessKey: 'none' }

export async function startMoto(): Promise<MotoServer> {
  // Run as a process, because nothing may import the tools.
  const { stdout } = await promisify(execFile)(process.execPath, [TOOL])
  const found: { command: string[] } = JSON.parse(stdout)
  const [command = '', ...args] = found.command
  // It ends with its stdin, so it never outlives this process.
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  const url = await firstLine(child)
  return {
    url,
    async reset() {
      const { ok, status } = await fetch(`${url}/moto-api/reset`, { method: 'POST' })
      if (!ok) throw new Error(`moto would not forget: ${status}`)
    },
    async close() {
      child.kill()
      await ended
    },
  }
}

function firstLine(child: ChildProcess & { stdout: NodeJS.ReadableStream }): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => reject(new Error(`moto ended with ${code} before it was ready`)))
    createInterface({ input: child.stdout }).once('line', resolve)
  })
}
