import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificates {
  /** Path of a file such as `server.crt`. */
  path(name: string): string
  text(name: string): string
  /** Creates another server certificate of this authority, such as `renewed.crt` with `renewed.key`. */
  signServer(name: string): void
  remove(): void
}

/** `ca`, and signed by it `server` for the loopback interface and `client`; each with `.crt` and `.key`. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-certificates-'))
  const path = (name: string) => join(folder, name)
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=lcm-test-ca', '-days', '2')
  writeFileSync(
    path('server.ext'),
    'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n',
  )
  writeFileSync(path('client.ext'), 'extendedKeyUsage=clientAuth\n')
  const sign = (name: string, extensions: string) => {
    openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', extensions]
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...signing)
  }
  for (const name of ['server', 'client']) sign(name, `${name}.ext`)
  return {
    path,
    signServer: name => sign(name, 'server.ext'),
    text: name => readFileSync(path(name), 'utf8'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
