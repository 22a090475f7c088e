import type { ControlPlane } from '@lcm/control-plane-api/control-plane'
import { startServer } from '@lcm/control-plane-api/server'
import { systemClock } from '@lcm/runtime/clock'
import { openMongoStore } from '@lcm/store/mongo-store'
import { openSqliteStore } from '@lcm/store/sqlite-store'
import { type Store, StoreError } from '@lcm/store/store'
import { assetFolder } from './assets.ts'
import { StartupError } from './startup-error.ts'

export interface Listening {
  readonly host: string
  readonly port: number
  /** Further names under which people and controllers reach it. */
  readonly publicHosts?: readonly string[]
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]', '::1']

export function openStore(file: string): Store {
  try {
    return openSqliteStore(file, { gather: setImmediate })
  } catch (cause) {
    throw asStartupError(cause)
  }
}

export async function openSharedStore(uri: string): Promise<Store> {
  try {
    return await openMongoStore({ uri })
  } catch (cause) {
    throw asStartupError(cause)
  }
}

const asStartupError = (cause: unknown): unknown =>
  cause instanceof StoreError ? new StartupError(cause.message, { cause }) : cause

export async function listen(plane: ControlPlane, { host, port, publicHosts = [] }: Listening) {
  const hostnames = [...new Set([...LOOPBACK, host, ...publicHosts])]
  const consoleDir = assetFolder('dist', 'console')
  try {
    return await startServer({ dispatch: plane.dispatch, clock: systemClock, host, port, hostnames, consoleDir })
  } catch (cause) {
    throw explained(cause, port)
  }
}

function explained(cause: unknown, port: number): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : ''
  if (code === 'EADDRINUSE') {
    return new StartupError(
      `port ${port} is in use. Stop what uses it, or choose another: npm start -- --port ${port + 1}`,
      { cause },
    )
  }
  if (code === 'EACCES')
    return new StartupError(`port ${port} needs more rights. Choose one above 1023 with --port`, { cause })
  return cause
}
