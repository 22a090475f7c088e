/** LCM can't start. `message` says why, `advice` what to do. */
export class StartupError extends Error {
  override readonly name = 'StartupError'
  readonly exitCode: number
  readonly advice: string | null

  constructor(message: string, options: { cause?: unknown; exitCode?: number; advice?: string | null } = {}) {
    super(message, { cause: options.cause })
    this.advice = options.advice ?? null
    this.exitCode = options.exitCode ?? 1
  }
}

export const NO_SUCH_ADDRESS = ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENOTFOUND', 'EAI_AGAIN']

/** Converts a listen error to a StartupError with advice. */
export function refusedToListen(cause: unknown, { host, port }: { host: string; port: number }): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (code === 'EADDRINUSE') {
    return new StartupError(`port ${port} is in use`, {
      advice: `stop the process that uses it, or choose another with --port, such as ${port + 1}`,
      cause,
    })
  }
  if (code === 'EACCES')
    return new StartupError(`no permission to listen on port ${port}`, {
      advice: 'choose one above 1023 with --port',
      cause,
    })
  if (NO_SUCH_ADDRESS.includes(code))
    return new StartupError(`this computer has no address ${host}`, { advice: 'choose another with --host', cause })
  return cause
}
