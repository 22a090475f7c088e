import { createHash } from 'node:crypto'
import { isIP, type Socket, connect as tcpConnect } from 'node:net'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'

/** How far one connection came, and what it saw on its way. */
export interface ConnectionProgress {
  stage: 'NOTHING' | 'TCP' | 'TLS'
  certificate_sha256: string | null
}

export class PinMismatch extends Error {
  override readonly name = 'PinMismatch'
}

export interface StagedConnection {
  readonly progress: ConnectionProgress
  open(url: URL, pin: string | null): Promise<Socket>
  /** Ends the connection wherever it is; also one that is still being opened. */
  destroy(): void
}

/**
 * Opens one connection step by step, so that a failure tells how far it came. Any certificate is taken, as CML signs its
 * own, but it is compared with the pin before a byte of the request can be sent.
 */
export function stagedConnection(): StagedConnection {
  const progress: ConnectionProgress = { stage: 'NOTHING', certificate_sha256: null }
  let socket: Socket | undefined
  return {
    progress,
    async open(url, pin) {
      const tcp = tcpConnect({ host: hostOf(url), port: portOf(url), noDelay: true })
      socket = tcp
      await settled(tcp, 'connect')
      progress.stage = 'TCP'
      if (url.protocol !== 'https:') return refusePinOnPlain(tcp, pin)
      const tls = tlsConnect({
        socket: tcp,
        servername: isIP(hostOf(url)) === 0 ? hostOf(url) : '',
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
      })
      socket = tls
      await settled(tls, 'secureConnect')
      progress.stage = 'TLS'
      progress.certificate_sha256 = fingerprintOf(tls)
      if (pin !== null && pin !== progress.certificate_sha256) {
        throw new PinMismatch(`the certificate is ${progress.certificate_sha256}, not the pinned ${pin}`)
      }
      return tls
    },
    destroy: () => socket?.destroy(),
  }
}

const hostOf = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, '$1')
const portOf = (url: URL) => Number(url.port) || (url.protocol === 'https:' ? 443 : 80)

function refusePinOnPlain(tcp: Socket, pin: string | null): Socket {
  if (pin === null) return tcp
  throw new PinMismatch('a certificate is pinned, but the endpoint is plain http')
}

function fingerprintOf(tls: TLSSocket): string {
  const { raw } = tls.getPeerCertificate()
  if (!raw) throw new PinMismatch('the server showed no certificate')
  return createHash('sha256').update(raw).digest('hex')
}

/** Errors after this are nobody's: the request reports its own. */
function settled(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve())
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed')))
  })
}
