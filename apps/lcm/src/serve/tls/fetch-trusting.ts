import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import type { Fetch } from '@lcm/client/http-transport'
import { StartupError } from '../startup-error.ts'

/** A fetch that also trusts the certificate authorities in LCM_CA_FILE. Undefined without a file: the global one will do. */
export async function fetchTrusting(caFile: string | undefined): Promise<Fetch | undefined> {
  if (caFile === undefined || caFile === '') return undefined
  refuseUnusable(caFile)
  const { Agent, buildConnector, fetch } = await import('undici')
  const dispatcher = new Agent({
    // The file is read for each connection, so that a renewed authority needs no restart.
    connect: (options, callback) => buildConnector({ ca: authoritiesIn(caFile) })(options, callback),
  })
  return (url, init) => fetch(url, { ...init, dispatcher })
}

const authoritiesIn = (caFile: string): string[] => [...rootCertificates, readFileSync(caFile, 'utf8')]

function refuseUnusable(caFile: string): void {
  try {
    new X509Certificate(readFileSync(caFile, 'utf8'))
  } catch (cause) {
    const isThere = existsSync(caFile)
    throw new StartupError(`LCM_CA_FILE=${caFile} ${isThere ? 'has no certificate in PEM format' : 'does not exist'}`, {
      advice: 'name the file with the certificate of the authority that signed the certificate of the API',
      exitCode: 2,
      cause,
    })
  }
}
