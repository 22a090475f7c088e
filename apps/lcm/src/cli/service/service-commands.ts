import type { Command } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'

export function defineServices(services: Command, shell: Shell): void {
  services
    .command('reset-term <service>')
    .description('let the epochs of a service begin anew, after etcd was rebuilt or a store restored')
    .action(async (service: string, _: unknown, command: Command) => {
      refuseLeaderless(service)
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      await client.call('resetTerm', { params: { service }, signal: shell.signal })
      if (!output.quiet) output.out(`the term of ${service} is reset: its next leader will be accepted`)
    })
  addAsk(services, shell, {
    verb: 'trigger',
    route: 'triggerService',
    summary: 'have the leader of a service look at everything now',
    said: service => `the leader of ${service} is asked to look at everything`,
  })
  addAsk(services, shell, {
    verb: 'resign',
    route: 'resignService',
    summary: 'have the leader of a service step down, so that another replica leads',
    said: service => `the leader of ${service} is asked to step down: \`lcm get services --watch\` shows who follows`,
  })
  services.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm services trigger worker-controller
  lcm services resign worker-controller
  lcm services reset-term worker-controller`

/** Those whose replicas all work at once. */
function refuseLeaderless(service: string): void {
  if (service !== 'control-plane-api') return
  const message = `the ${service} has no leader, all of its replicas serve: name a controller, \`lcm get services\` lists them`
  throw new CliError(EXIT.usage, message)
}

interface Ask {
  readonly verb: string
  readonly route: 'triggerService' | 'resignService'
  readonly summary: string
  said(service: string): string
}

function addAsk(services: Command, shell: Shell, { verb, route, summary, said }: Ask): void {
  services
    .command(`${verb} <service>`)
    .description(summary)
    .option('--reason <text>', 'why, for those who ask later')
    .action(async (service: string, { reason }: { reason?: string }, command: Command) => {
      refuseLeaderless(service)
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      await client.call(route, { params: { service }, body: { reason }, signal: shell.signal })
      if (!output.quiet) output.out(said(service))
    })
}
