import { Argument, type Command } from 'commander'
import type { Host, Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { runInProcess } from './run-in-process.ts'
import { portArgument } from './server-options.ts'

type Service = Parameters<Host['serve']>[0]['service']

interface ServeFlags {
  readonly host: string
  readonly port?: number
}

const SERVICES: readonly Service[] = [
  'control-plane-api',
  'resource-scheduler',
  'lablet-controller',
  'worker-controller',
]

export function defineServe(serve: Command, shell: Shell): void {
  serve
    .addArgument(new Argument('<service>', 'Service to run').choices(SERVICES))
    .option('--host <address>', 'Address to listen on', '127.0.0.1')
    .option('--port <n>', 'Port to listen on (default: depends on the service)', portArgument)
    .action(async (service: Service, flags: ServeFlags, command: Command) =>
      runServe(service, flags, invocation(command, shell)),
    )
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Everything else is configured by environment variables, see docs/reference/config.md.

SIGTERM shuts it down gracefully: it accepts no new work, finishes work in progress and hands leadership to another instance. A
second SIGTERM ends it immediately. /health reports its health, /ready what it is waiting for.

Examples:
  LCM_STORE=sqlite:lcm.sqlite … lcm serve control-plane-api
  LCM_SERVICE_TOKEN=… LCM_FLEET=prod … lcm serve worker-controller --port 8093`

const runServe = (service: Service, { host, port = undefined }: ServeFlags, invoked: Invocation): Promise<void> =>
  runInProcess(invoked, (hosting, io) =>
    hosting.serve({ service, host, port: port ?? null, env: invoked.shell.env }, io),
  )
