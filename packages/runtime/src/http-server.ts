import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'

/** PEM text. The certificate comes first, then those of its chain. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

export interface HttpServerOptions extends ServerOptions {
  /** Null serves plain HTTP. */
  readonly certificate: CertificatePair | null
}

const TLS_VERSION_MIN = 'TLSv1.2'

export function createHttpServer({ certificate, ...options }: HttpServerOptions, listener: RequestListener): Server {
  if (certificate === null) return createServer(options, listener)
  return createTlsServer({ ...options, ...certificate, minVersion: TLS_VERSION_MIN }, listener)
}

/** For new connections; open ones continue. A server without a certificate stays as it is. */
export function replaceCertificate(server: Server, pair: CertificatePair): void {
  if (server instanceof TlsServer) server.setSecureContext({ ...pair, minVersion: TLS_VERSION_MIN })
}
