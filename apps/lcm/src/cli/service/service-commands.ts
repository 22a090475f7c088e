import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { invocation } from '../invocation.ts'

export function defineServices(services: Command, shell: Shell): void {
  services
    .command('reset-term <service>')
    .description('Reset the epochs of a service, after etcd was rebuilt or a store was restored')
    .action(async (service: string, _: unknown, command: Command) => {
      refuseLeaderless(service)
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      await client.call('resetTerm', { params: { service }, signal: shell.signal })
      if (!output.quiet) output.out(`term of ${service} reset: its next leader will be accepted`)
    })
  addAsk(services, shell, {
    verb: 'trigger',
    route: 'triggerService',
    summary: 'Make the leader of a service reconcile everything now',
    message: service => `requested a full sweep from the leader of ${service}`,
  })
  addAsk(services, shell, {
    verb: 'resign',
    route: 'resignService',
    summary: 'Make the leader of a service step down, so that another replica takes over',
    message: service => `requested a new leader of ${service}: watch it with \`lcm get services --watch\``,
  })
  services.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm services trigger worker-controller
  lcm services resign worker-controller
  lcm services reset-term worker-controller`

/** The API has no leader, because all of its replicas serve. */
function refuseLeaderless(service: string): void {
  if (service !== 'control-plane-api') return
  const message = `${service} has no leader because all of its replicas serve`
  throw new CliError(EXIT.usage, message, 'name a controller, list them with `lcm get services`')
}

interface Ask {
  readonly verb: string
  readonly route: 'triggerService' | 'resignService'
  readonly summary: string
  message(service: string): string
}

function addAsk(services: Command, shell: Shell, { verb, route, summary, message }: Ask): void {
  services
    .command(`${verb} <service>`)
    .description(summary)
    .option('--reason <text>', 'Reason, recorded in the audit log')
    .action(async (service: string, { reason }: { reason?: string }, command: Command) => {
      refuseLeaderless(service)
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      await client.call(route, { params: { service }, body: { reason }, signal: shell.signal })
      if (!output.quiet) output.out(message(service))
    })
}
