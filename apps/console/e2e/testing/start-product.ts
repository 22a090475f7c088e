import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import type { TestProject } from 'vitest/node'

const LCM = fileURLToPath(new URL('../../../../dist/lcm.mjs', import.meta.url))
/** Speed of the simulation: a machine boots within two seconds. */
const SPEED = '600'

export interface Product {
  readonly url: string
  readonly token: string
  readonly pid: number
  stop(): Promise<void>
}

/** Runs `lcm up` in its own data folder. Resolves when it listens. */
export async function startProduct(options: { port?: string; data?: string } = {}): Promise<Product> {
  const data = options.data ?? mkdtempSync(join(tmpdir(), 'lcm-console-'))
  const ports = ['--port', options.port ?? '0', '--sim-port', '0']
  const child = spawn(process.execPath, [LCM, 'up', '--data', data, ...ports, '--speed', SPEED], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const found = /(http:\/\/\S+?)\/#\/sign-in\?code=/.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.on('exit', code => reject(new Error(`lcm up ended with ${code}: ${output}`)))
  })
  return {
    url,
    token: readFileSync(join(data, 'admin-token'), 'utf8').trim(),
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
      if (options.data === undefined) rmSync(data, { recursive: true, force: true })
    },
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    product: { readonly url: string; readonly token: string }
  }
}

/** Starts one product, and waits until its fleet serves. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const product = await startProduct()
  await fleetThatServes(product)
  project.provide('product', { url: product.url, token: product.token })
  return product.stop
}

const FLEET_LIMIT_MS = 60_000

async function fleetThatServes({ url, token }: Product): Promise<void> {
  const client = apiClient(httpTransport({ baseUrl: url, clock: systemClock }), { token })
  const startedMs = systemClock.monotonic()
  while (systemClock.monotonic() - startedMs < FLEET_LIMIT_MS) {
    const { items } = await client.call('listWorkers', {})
    if (items.length > 0 && items.every(worker => worker.service_status === 'AVAILABLE')) return
    await systemClock.sleep(100)
  }
  throw new Error(`the fleet is not available after ${FLEET_LIMIT_MS} ms`)
}
