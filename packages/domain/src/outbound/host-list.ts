/** A host, or `*.` and a domain for all hosts below it; with a port it lists only that port. IPv6 addresses are in brackets. */
export const HOST_PATTERN = /^(?:\*\.)?(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

interface Target {
  /** Of a URL. */
  readonly hostname: string
  /** Empty for the default port. */
  readonly port: string
  readonly protocol: string
}

/** Whether one of the patterns names the host of a URL. */
export function isHostListed(patterns: readonly string[], { hostname, port, protocol }: Target): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  const at = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return patterns.some(pattern => {
    const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(pattern.toLowerCase()) ?? []
    if (only !== undefined && only !== at) return false
    return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name
  })
}
