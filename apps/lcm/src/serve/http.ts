import { createServer } from 'node:net'
import type { Dispatch } from '@lcm/contract/wire'
import { inUrl, type RunningServer, startServer } from '@lcm/control-plane/http/server'
import { aborted, type HostedService } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { openMongoStore } from '@lcm/store/mongo/store'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { type Store, StoreError } from '@lcm/store/store'
import { assetFolder } from './files/assets.ts'
import { StartupError } from './startup-error.ts'

export interface Listening {
  readonly host: string
  readonly port: number
  /** Further names under which people and controllers reach it. */
  readonly publicHosts?: readonly string[]
  /** Aborts when the process was asked to end: clients are then to go elsewhere. */
  readonly ending: AbortSignal
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]', '::1']

export function openStore(file: string): Store {
  try {
    return openSqliteStore(file, { gather: setImmediate })
  } catch (cause) {
    throw asStartupError(cause)
  }
}

/** Rejects with a StartupError when waiting is of no use, and with a StoreError while the server is not there. */
export async function openSharedStore(uri: string): Promise<Store> {
  try {
    return await openMongoStore({ uri })
  } catch (cause) {
    throw cause instanceof StoreError && !cause.isFinal ? cause : asStartupError(cause)
  }
}

/** What has to be written before anybody is served. Rejects with a StartupError when the store refuses it. */
export async function prepared<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw asStartupError(cause)
  }
}

const asStartupError = (cause: unknown): unknown =>
  cause instanceof StoreError ? new StartupError(cause.advice ?? cause.message, { cause }) : cause

const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1']
const NO_SUCH_ADDRESS = ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENOTFOUND', 'EAI_AGAIN']

/** Asked before anything is written, so that a start that can't be leaves nothing behind. */
export async function refuseTakenPort(port: number): Promise<void> {
  for (const address of LOOPBACK_ADDRESSES) {
    const failure = await failureToListen(address, port)
    if (failure !== null && !NO_SUCH_ADDRESS.includes(failure.code ?? ''))
      throw refusedToListen(failure, { host: address, port })
  }
}

const failureToListen = (address: string, port: number) =>
  new Promise<NodeJS.ErrnoException | null>(resolve => {
    const server = createServer()
    server.once('error', resolve)
    server.listen(port, address, () => server.close(() => resolve(null)))
  })

export async function listen(
  dispatch: Dispatch,
  { host, port, publicHosts = [], ending }: Listening,
): Promise<RunningServer> {
  const isLeaving = () => ending.aborted
  const hostnames = [...new Set([...LOOPBACK, inUrl(host), ...publicHosts])]
  const consoleDir = assetFolder('dist', 'console')
  try {
    return await startServer({ dispatch, clock: systemClock, host, port, hostnames, consoleDir, isLeaving })
  } catch (cause) {
    throw refusedToListen(cause, { host, port })
  }
}

/** Once asked to end it serves on for `delayMs`, as not ready; then it answers what is under way. */
export const served = (server: RunningServer, { delayMs, hurry }: Leaving): HostedService => ({
  name: 'http-server',
  async run(signal) {
    await aborted(signal)
    await systemClock.sleep(delayMs, hurry)
    await server.close(hurry)
  },
})

export interface Leaving {
  readonly delayMs: number
  /** Aborts when there is no more time to wait for anybody. */
  readonly hurry: AbortSignal | undefined
}

/** What a service says that can't listen where it was told to. */
export function refusedToListen(cause: unknown, { host, port }: { host: string; port: number }): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (code === 'EADDRINUSE') {
    return new StartupError(
      `port ${port} is in use. Stop what uses it, or choose another with --port, such as ${port + 1}`,
      { cause },
    )
  }
  if (code === 'EACCES')
    return new StartupError(`port ${port} needs more rights. Choose one above 1023 with --port`, { cause })
  if (NO_SUCH_ADDRESS.includes(code))
    return new StartupError(`there is no address ${host} on this machine. Name one that it has with --host`, { cause })
  return cause
}
