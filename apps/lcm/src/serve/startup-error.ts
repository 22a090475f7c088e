/** LCM can't start. The message says why and what to do. */
export class StartupError extends Error {
  override readonly name = 'StartupError'
  readonly exitCode: number

  constructor(message: string, options: { cause?: unknown; exitCode?: number } = {}) {
    super(message, { cause: options.cause })
    this.exitCode = options.exitCode ?? 1
  }
}
