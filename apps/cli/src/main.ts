import { createInterface } from 'node:readline'
import { systemClock } from '@lcm/runtime/clock'
import { EXIT } from './exit-code.ts'
import { processSink } from './output.ts'
import { run } from './program.ts'
import type { Host, Shell } from './shell.ts'

// Which Node to run is ours to say; the SDK's own notice would only puzzle whoever starts LCM.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'

const interrupt = new AbortController()
process.on('SIGINT', () => {
  if (interrupt.signal.aborted) process.exit(EXIT.interrupted)
  interrupt.abort()
})
process.on('SIGTERM', () => interrupt.abort())

/** One line from the keyboard; null when the input ends or the person interrupts. */
async function readLine(): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, signal: interrupt.signal })
  try {
    for await (const line of lines) return line
    return null
  } finally {
    lines.close()
    // Else an open terminal keeps the process alive when everything is said.
    process.stdin.unref()
  }
}

async function loadHost(): Promise<Host> {
  const [{ up }, { serve }, { serveSim }, { checkBackup }, { restore }, { StartupError }] = await Promise.all([
    import('@lcm/host/up'),
    import('@lcm/host/serve'),
    import('@lcm/host/serve-sim'),
    import('@lcm/host/backup'),
    import('@lcm/host/restore'),
    import('@lcm/host/startup-error'),
  ])
  const startupExitCode = (error: unknown) => (error instanceof StartupError ? error.exitCode : null)
  return { up, serve, serveSim, checkBackup, restore, startupExitCode }
}

const leave = () => process.exit(EXIT.ok)

const shell: Shell = {
  env: process.env,
  clock: systemClock,
  signal: interrupt.signal,
  stdout: processSink(process.stdout, leave),
  stderr: processSink(process.stderr, leave),
  readLine: process.stdin.isTTY ? readLine : null,
  async transport(baseUrl) {
    const { httpTransport } = await import('@lcm/client/http-transport')
    return httpTransport({ baseUrl, clock: systemClock })
  },
  loadHost,
}

// Not a top-level await: chunks of the bundle import this one, and would wait for it while it waits for them.
run(process.argv.slice(2), shell).then(exitCode => {
  process.exitCode = exitCode
})
