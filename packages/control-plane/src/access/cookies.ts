import type { ApiRequest } from '@lcm/contract/route-spec'
import { isReachedByHttps } from './public-address.ts'

export interface NewCookie {
  readonly stem: string
  readonly value: string
  readonly sameSite: 'Strict' | 'Lax'
  /** 0 deletes the cookie. */
  readonly maxAgeMs: number
}

export interface Cookies {
  read(request: ApiRequest, stem: string): string | null
  /** A `set-cookie` header. Scripts never see the cookie. */
  write(request: ApiRequest, cookie: NewCookie): string
}

/** Over https a cookie is Secure and has the prefix that keeps subdomains from setting it. */
export function cookies(publicUrl: string | null): Cookies {
  const isSecure = isReachedByHttps(publicUrl)
  const nameOf = (stem: string, { headers: { host = '' } }: ApiRequest) =>
    isSecure ? `__Host-${nameByPort(stem, publicUrl ?? '')}` : nameByPort(stem, host)
  return {
    read(request, stem) {
      const name = nameOf(stem, request)
      const match = (request.headers.cookie ?? '')
        .split(';')
        .map(part => part.trim())
        .find(part => part.startsWith(`${name}=`))
      return match === undefined ? null : match.slice(name.length + 1)
    },
    write(request, { stem, value, sameSite, maxAgeMs }) {
      const attributes = `Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${Math.floor(maxAgeMs / 1000)}`
      return `${nameOf(stem, request)}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`
    },
  }
}

/** Browsers share cookies between the ports of a host. The port in the name keeps two installations on one host apart. */
function nameByPort(stem: string, address: string): string {
  const port = /:(\d{1,5})$/.exec(address)?.[1]
  return port === undefined ? stem : `${stem}_${port}`
}
