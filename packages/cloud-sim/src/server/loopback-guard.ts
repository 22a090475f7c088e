const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

export interface GuardedHeaders {
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly fetchSite: string | undefined
}

/**
 * Why a request to the control API is rejected; null admits it. The API has no login, so pages of other sites must not
 * reach it through the operator's browser, neither directly nor by a name that resolves to this host.
 */
export function refusalReason({ host, origin, fetchSite }: GuardedHeaders): string | null {
  if (!isLoopback(`http://${host ?? ''}`)) {
    return `the control API is reached as localhost or 127.0.0.1, not as "${host ?? ''}"`
  }
  if (fetchSite === 'cross-site' || (origin !== undefined && !isLoopback(origin))) {
    return 'the control API does not answer pages of other sites'
  }
  return null
}

function isLoopback(url: string): boolean {
  try {
    return LOOPBACK.includes(new URL(url).hostname)
  } catch {
    return false
  }
}
