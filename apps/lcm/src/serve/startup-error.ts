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
