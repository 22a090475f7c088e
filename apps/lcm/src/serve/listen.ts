import { createServer } from 'node:net'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { TrustedProxies } from '@lcm/control-plane/access/client-address'
import { inUrl, type RunningServer, startServer } from '@lcm/control-plane/http/server'
import { aborted, type HostedService } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { assetFolder } from './files/asset-folder.ts'
import { NO_SUCH_ADDRESS, refusedToListen } from './startup-error.ts'
import type { ServerCertificate } from './tls/server-certificate.ts'

export interface Listening {
  readonly host: string
  readonly port: number
  /** Further host names of this server. */
  readonly publicHosts?: readonly string[]
  readonly certificate: ServerCertificate
  readonly publicUrl?: string | null
  readonly trustedProxies?: TrustedProxies
  /** Aborts when shutdown starts; clients should then connect elsewhere. */
  readonly ending: AbortSignal
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]', '::1']

const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1']

/** Checks the port before anything is written, so that a failed start leaves no files behind. */
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
  { host, port, publicHosts = [], certificate, ...more }: Listening,
): Promise<RunningServer> {
  const hostnames = [...new Set([...LOOPBACK, inUrl(host), ...publicHosts])]
  const consoleDir = assetFolder('dist', 'console')
  try {
    const served = { dispatch, clock: systemClock, host, port, hostnames, consoleDir, ...more }
    const server = await startServer({ ...served, certificate: certificate.pair })
    certificate.follow(server.useCertificate)
    return server
  } catch (cause) {
    throw refusedToListen(cause, { host, port })
  }
}

const WILDCARDS: readonly string[] = ['0.0.0.0', '::']

/** The https address of a server that has a certificate: browsers then keep its cookies off plain HTTP. */
export function urlWithTls({ pair }: ServerCertificate, { host, port }: { host: string; port: number }): string | null {
  if (pair === null) return null
  return new URL(`https://${WILDCARDS.includes(host) ? 'localhost' : inUrl(host)}:${port}`).origin
}

/** On shutdown, keeps serving as not ready for `delayMs`, then finishes requests in progress. */
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
  /** Aborts on the second request to shut down. */
  readonly hurry: AbortSignal | undefined
}
