import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { systemClock } from '@lcm/runtime/clock'
import { CliError, EXIT } from './cli/cli-error.ts'
import type { Host, Shell } from './cli/command-dependencies.ts'
import { textFrom } from './cli/files/text-file.ts'
import { run } from './cli/program.ts'
import { keysOf } from './cli/terminal/keyboard.ts'
import { processSink, unwritten } from './cli/terminal/output.ts'

// LCM checks the Node.js version itself, so the warning of the AWS SDK is suppressed.
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

/** Files of a server, such as its store, are for its own user alone. */
const PRIVATE_UMASK = 0o077

/** Reads one line from the terminal; null at the end of input or on Ctrl-C. */
async function readLine(): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, signal: interrupt.signal })
  try {
    for await (const line of lines) return line
    return null
  } finally {
    lines.close()
    // Otherwise an open terminal would keep the process alive.
    process.stdin.unref()
  }
}

async function readInput(): Promise<string> {
  return textFrom(process.stdin)
}

/** Each function loads its own code when it is called: a controller needs neither the API nor the simulated cloud. */
async function loadHost(): Promise<Host> {
  process.umask(PRIVATE_UMASK)
  const { StartupError } = await import('./serve/startup-error.ts')
  return {
    up: async (...args) => (await import('./serve/up.ts')).up(...args),
    serve: async (...args) => (await import('./serve/one-service.ts')).serve(...args),
    serveSim: async (...args) => (await import('./serve/serve-sim.ts')).serveSim(...args),
    checkBackup: async (...args) => (await import('./serve/data/backup-file.ts')).checkBackup(...args),
    async *encryptBackup(...args) {
      yield* (await import('./serve/data/encrypted-backup.ts')).encryptBackup(...args)
    },
    restore: async (...args) => (await import('./serve/data/restore-data-folder.ts')).restore(...args),
    startupError: error => (error instanceof StartupError ? error : null),
  }
}

/** Undefined without LCM_CA_FILE: the global fetch will do. */
async function fetchWithCa() {
  const { LCM_CA_FILE } = process.env
  if (!LCM_CA_FILE) return undefined
  const { StartupError } = await import('./serve/startup-error.ts')
  const { fetchTrusting } = await import('./serve/tls/fetch-trusting.ts')
  return fetchTrusting(LCM_CA_FILE).catch((error: unknown) => {
    throw error instanceof StartupError ? new CliError(error.exitCode, error.message, error.advice) : error
  })
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
    return httpTransport({ baseUrl, clock: systemClock, fetch: await fetchWithCa() })
  },
  loadHost,
  loadExamination: () => import('./serve/doctor-probes.ts'),
  async probeDisk(path) {
    const { probeDisk } = await import('./doctor/probe-computer.ts')
    return probeDisk(path)
  },
}

shell.stdout.unread.addEventListener('abort', () => {
  const code = unwritten(shell.stdout)
  if (code === null) return
  shell.stderr.write(`error: can't write to standard output (${code}): the output is incomplete\n`)
  process.exitCode = EXIT.failed
})

// Not a top-level await: chunks of the bundle import this module, which would cause a deadlock.
run(process.argv.slice(2), shell).then(exitCode => {
  process.exitCode ||= exitCode
})
