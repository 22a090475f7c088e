import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { systemClock } from '@lcm/runtime/clock'
import { EXIT } from './cli/exit-code.ts'
import { textFrom } from './cli/files/text-file.ts'
import { run } from './cli/program.ts'
import type { Host, Shell } from './cli/shell.ts'
import { keysOf } from './cli/terminal/keyboard.ts'
import { processSink, unwritten } from './cli/terminal/output.ts'

// Which Node to run is ours to say; the SDK's own notice would only puzzle whoever starts LCM.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'

const interrupt = new AbortController()
process.on('SIGINT', () => {
  if (interrupt.signal.aborted) process.exit(EXIT.interrupted)
  interrupt.abort()
})
const hurry = new AbortController()
process.on('SIGTERM', () => {
  if (hurry.signal.aborted) process.exit(EXIT.interrupted)
  if (interrupt.signal.aborted) hurry.abort()
  interrupt.abort()
})

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

async function readInput(): Promise<string> {
  return textFrom(process.stdin)
}

async function loadHost(): Promise<Host> {
  const [{ up }, { serve }, { serveSim }, { checkBackup }, { restore }, { StartupError }] = await Promise.all([
    import('./serve/up.ts'),
    import('./serve/one-service.ts'),
    import('./serve/sim.ts'),
    import('./serve/data/backup.ts'),
    import('./serve/data/restore.ts'),
    import('./serve/startup-error.ts'),
  ])
  const startupExitCode = (error: unknown) => (error instanceof StartupError ? error.exitCode : null)
  return { up, serve, serveSim, checkBackup, restore, startupExitCode }
}

const shell: Shell = {
  env: process.env,
  clock: systemClock,
  signal: interrupt.signal,
  hurry: hurry.signal,
  stdout: processSink(process.stdout),
  stderr: processSink(process.stderr),
  readLine: process.stdin.isTTY ? readLine : null,
  keys: process.stdin.isTTY ? keysOf(process.stdin) : null,
  readInput: process.stdin.isTTY ? null : readInput,
  newKey: randomUUID,
  async transport(baseUrl) {
    const { httpTransport } = await import('@lcm/client/http-transport')
    return httpTransport({ baseUrl, clock: systemClock })
  },
  loadHost,
  loadExamination: () => import('./serve/examination.ts'),
  async probeDisk(path) {
    const { probeDisk } = await import('./doctor/probe-machine.ts')
    return probeDisk(path)
  },
}

shell.stdout.unread.addEventListener('abort', () => {
  const code = unwritten(shell.stdout)
  if (code === null) return
  shell.stderr.write(`error: standard output can't be written (${code}): what was said there is lost\n`)
  process.exitCode = EXIT.failed
})

// Not a top-level await: chunks of the bundle import this one, and would wait for it while it waits for them.
run(process.argv.slice(2), shell).then(exitCode => {
  process.exitCode ||= exitCode
})
