import { createHash } from 'node:crypto'
import { isIP, type Socket, connect as tcpConnect } from 'node:net'
import {
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
  connect as tlsConnect,
} from 'node:tls'

/** Progress of one connection and the certificate it saw. */
export interface ConnectionProgress {
  stage: 'NOTHING' | 'TCP' | 'TLS'
  certificate_sha256: string | null
}

export interface Trust {
  /**
   * - pin: any certificate at first contact, as CML signs its own, and only that one from then on
   * - ca: one for this host that chains to `ca` or a public authority; it may be renewed, so pins are not compared
   * - off: any at any time
   */
  readonly verify: 'pin' | 'ca' | 'off'
  /** PEM. */
  readonly ca: string | null
}

/** The server may not be the expected one. */
export class CertificateError extends Error {
  override readonly name = 'CertificateRefused'
  readonly code: 'PinMismatch' | 'UntrustedCertificate'

  constructor(code: 'PinMismatch' | 'UntrustedCertificate', message: string) {
    super(message)
    this.code = code
  }
}

export interface TlsConnection {
  readonly progress: ConnectionProgress
  open(url: URL, pin: string | null): Promise<Socket>
  /** Closes the connection at any stage, even while it is being opened. */
  destroy(): void
}

/**
 * Opens one connection step by step, so that a failure reports its stage. The certificate is checked before any byte of
 * the request is sent.
 */
export function tlsConnection(trust: Trust): TlsConnection {
  const progress: ConnectionProgress = { stage: 'NOTHING', certificate_sha256: null }
  let socket: Socket | undefined
  return {
    progress,
    async open(url, pin) {
      const host = hostOf(url)
      const tcp = tcpConnect({ host, port: portOf(url), noDelay: true })
      socket = tcp
      await settled(tcp, 'connect')
      progress.stage = 'TCP'
      if (url.protocol !== 'https:') return refuseTrustInPlain(tcp, pin, trust)
      const tls = tlsConnect({
        socket: tcp,
        host,
        servername: isIP(host) === 0 ? host : '',
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
        secureContext: contextOf(trust),
      })
      socket = tls
      await settled(tls, 'secureConnect')
      progress.stage = 'TLS'
      progress.certificate_sha256 = fingerprintOf(tls)
      judge(tls, { pin, seen: progress.certificate_sha256 }, trust)
      return tls
    },
    destroy: () => socket?.destroy(),
  }
}

/** One per trust: to read all public authorities takes ten times as long as to connect. */
const contexts = new WeakMap<Trust, SecureContext>()

function contextOf(trust: Trust): SecureContext {
  const known = contexts.get(trust)
  if (known !== undefined) return known
  const { ca } = trust
  const context = createSecureContext(ca === null ? {} : { ca: [...rootCertificates, ca] })
  contexts.set(trust, context)
  return context
}

const hostOf = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, '$1')
const portOf = (url: URL) => Number(url.port) || (url.protocol === 'https:' ? 443 : 80)

function judge(tls: TLSSocket, { pin, seen }: { pin: string | null; seen: string }, { verify }: Trust): void {
  if (verify === 'pin' && pin !== null && pin !== seen) {
    throw new CertificateError('PinMismatch', `the certificate is ${seen}, not the pinned ${pin}`)
  }
  if (verify === 'ca' && !tls.authorized) {
    throw new CertificateError(
      'UntrustedCertificate',
      `the certificate is not to be trusted: ${tls.authorizationError}`,
    )
  }
}

function refuseTrustInPlain(tcp: Socket, pin: string | null, { verify }: Trust): Socket {
  if (verify === 'off' || (verify === 'pin' && pin === null)) return tcp
  throw new CertificateError('PinMismatch', 'a certificate is asked for, but the endpoint is plain http')
}

function fingerprintOf(tls: TLSSocket): string {
  const { raw } = tls.getPeerCertificate()
  if (!raw) throw new CertificateError('PinMismatch', 'the server showed no certificate')
  return createHash('sha256').update(raw).digest('hex')
}

/** Later errors are ignored: the request reports its own. */
function settled(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve())
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed')))
  })
}
