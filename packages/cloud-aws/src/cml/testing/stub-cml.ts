import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { selfSigned } from '@lcm/cloud-sim/cml/certificate'

export const IDENTITY = selfSigned('localhost', Date.parse('2026-01-02T03:04:05.000Z'))
export const USER_ID = '00000000-0000-4000-8000-00000000abcd'
export const PASSWORD = 'Passw0rd-of-ours'

export interface StubRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export type StubAnswer =
  | { readonly status: number; readonly json?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> }
  | 'hang'
  /** Written unchanged, and then the connection is closed. */
  | { readonly bytes: string | Uint8Array }

export interface StubCml {
  readonly login: CmlLogin
  readonly requests: readonly StubRequest[]
  /** `method path` of every request but logins. */
  asked(): readonly string[]
  loginCount(): number
  openSockets(): number
  /** Connections opened so far. */
  connectionCount(): number
  hangUp(): void
  /** Resolves when a condition holds that requests and sockets may change. */
  until(isSo: () => boolean): Promise<void>
}

const closers: (() => Promise<void>)[] = []

/** For `afterEach`. Closes in reverse order. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}

export const atEnd = (close: () => Promise<void>): void => void closers.push(close)

export const refused = (status: number, description: string): StubAnswer => ({
  status,
  json: { code: status, description },
})

/** A server that accepts every login, each time with a new token, and has scripted responses. */
export async function stubCml(
  answer: (request: StubRequest, stub: StubCml) => StubAnswer | undefined,
): Promise<StubCml> {
  const requests: StubRequest[] = []
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()
  let connectionCount = 0
  const changed = () => {
    for (const check of waiting) check()
  }
  const server = createServer({ cert: IDENTITY.certificate_pem, key: IDENTITY.key_pem })
  server.on('secureConnection', socket => {
    connectionCount += 1
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      changed()
    })
    changed()
  })
  server.on('request', async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const [path = '', query = ''] = (request.url ?? '').split('?')
    const body = Buffer.concat(chunks).toString()
    const seen = {
      method: request.method ?? '',
      path: path.replace('/api/v0', ''),
      query,
      body,
      headers: request.headers,
    }
    requests.push(seen)
    const given = answer(seen, stub) ?? ordinary(seen, stub.loginCount())
    if (given !== 'hang' && 'bytes' in given) request.socket.end(given.bytes)
    else if (given !== 'hang') {
      const text = 'text' in given ? given.text : given.json === undefined ? '' : JSON.stringify(given.json)
      const type = 'text' in given ? {} : { 'content-type': 'application/json' }
      response.writeHead(given.status, { ...type, ...given.headers }).end(text)
    }
    changed()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const hangUp = () => {
    for (const socket of sockets) socket.destroy()
  }
  atEnd(async () => {
    hangUp()
    server.close()
    await once(server, 'close')
  })
  const isLogin = (request: StubRequest) => request.path === '/auth_extended' || request.path === '/authenticate'
  const stub: StubCml = {
    login: {
      url: `https://127.0.0.1:${port}`,
      certificate_sha256: IDENTITY.sha256,
      username: 'admin',
      password: PASSWORD,
    },
    requests,
    asked: () => requests.filter(request => !isLogin(request)).map(({ method, path }) => `${method} ${path}`),
    loginCount: () => requests.filter(isLogin).length,
    openSockets: () => sockets.size,
    connectionCount: () => connectionCount,
    hangUp,
    until: isSo =>
      new Promise(resolve => {
        const check = () => {
          if (!isSo()) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
  }
  return stub
}

function ordinary({ path }: StubRequest, logins: number): StubAnswer {
  if (path !== '/auth_extended') return refused(404, 'Not Found')
  return { status: 200, json: { username: 'admin', id: USER_ID, token: `session-${logins}`, admin: true, error: null } }
}
