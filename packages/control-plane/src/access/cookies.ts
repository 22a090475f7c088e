import type { ApiRequest } from '@lcm/contract/wire'

/** Browsers share cookies between the ports of a host. The port in the name keeps two installations on one host apart. */
export function cookieName(stem: string, request: ApiRequest): string {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1]
  return port === undefined ? stem : `${stem}_${port}`
}

export function cookieIn(request: ApiRequest, name: string): string | null {
  const match = (request.headers.cookie ?? '')
    .split(';')
    .map(part => part.trim())
    .find(part => part.startsWith(`${name}=`))
  return match === undefined ? null : match.slice(name.length + 1)
}

export interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly sameSite: 'Strict' | 'Lax'
  /** 0 deletes the cookie. */
  readonly maxAgeMs: number
  readonly secure: boolean
}

/** Cookies are HttpOnly: scripts never see them. */
export function setCookie({ name, value, path, sameSite, maxAgeMs, secure }: Cookie): string {
  const attributes = `Path=${path}; HttpOnly; SameSite=${sameSite}; Max-Age=${Math.floor(maxAgeMs / 1000)}`
  return `${name}=${value}; ${attributes}${secure ? '; Secure' : ''}`
}
