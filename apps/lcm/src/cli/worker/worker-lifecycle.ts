import type { Worker } from '@lcm/domain/worker/worker'
import type { Command } from 'commander'
import { findWorker } from '../find.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { addLabVerb } from '../lab/lab-commands.ts'
import { addSessionRetry } from '../session/session-commands.ts'
import type { Shell } from '../shell.ts'
import { confirmByName } from '../terminal/confirm.ts'
import { addSettleOptions, type SettleOptions, settle } from '../wait-until-settled.ts'
import { WORKER_SETTLING } from './worker-wait.ts'

interface ActOptions extends SettleOptions {
  readonly reason?: string
  readonly yes?: boolean
  readonly force?: boolean
}

interface Verb {
  readonly name: 'start' | 'stop' | 'terminate' | 'retry'
  readonly route: 'startWorker' | 'stopWorker' | 'terminateWorker' | 'retryWorker'
  readonly summary: string
}

const START: Verb = { name: 'start', route: 'startWorker', summary: 'want a worker RUNNING' }
const STOP: Verb = { name: 'stop', route: 'stopWorker', summary: 'want a worker STOPPED; its disk is kept' }
const TERMINATE: Verb = {
  name: 'terminate',
  route: 'terminateWorker',
  summary: 'want a worker gone for good, with its disk',
}
const RETRY: Verb = { name: 'retry', route: 'retryWorker', summary: 'try again what made a worker FAILED' }

const FORCE = 'also when sessions live on it, which end with it'

export function defineStart(group: Command, shell: Shell): void {
  addWorkerVerb(group, START, shell)
  addLabVerb(group, 'start', shell)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm start worker metal-3
  lcm start worker metal-3 --wait --timeout 30m
  lcm start lab "BGP basics" --wait            one that no session uses`,
  )
}

export function defineStop(group: Command, shell: Shell): void {
  addWorkerVerb(group, STOP, shell).option('--force', FORCE)
  addLabVerb(group, 'stop', shell)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm stop worker metal-3 --reason "over the weekend"
  lcm stop worker metal-3 --wait
  lcm stop lab "BGP basics"                    one that no session uses`,
  )
}

export function defineTerminate(group: Command, shell: Shell): void {
  addWorkerVerb(group, TERMINATE, shell)
    .option('-y, --yes', 'do not ask for the name of the worker')
    .option('--force', FORCE)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm terminate worker metal-3 --wait      asks for the name first
  lcm terminate worker metal-3 --yes       does not ask, for scripts`,
  )
}

export function defineRetry(group: Command, shell: Shell): void {
  addWorkerVerb(group, RETRY, shell)
  addSessionRetry(group, shell)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm retry worker metal-3 --wait              one that has FAILED
  lcm retry session ls-0n4k2m7a8q1cd --wait    one whose lab does not come up, or was stopped`,
  )
}

function addWorkerVerb(group: Command, verb: Verb, shell: Shell): Command {
  const noun = group
    .command('worker <id>')
    .alias('workers')
    .description(verb.summary)
    .option('--reason <text>', 'why, for those who ask later')
    .action(async (idOrName: string, options: ActOptions, command: Command) =>
      act(verb, idOrName, options, invocation(command, shell)),
    )
  return addSettleOptions(noun)
}

async function act(verb: Verb, idOrName: string, options: ActOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findWorker(client, idOrName, signal)
  if (verb.name === 'terminate' && !options.yes) await confirmByName(disasterOf(found), invoked)
  const body = { reason: options.reason, ...(options.force ? { force: true } : {}) }
  const worker = await client.call(verb.route, { params: { id: found.id }, body, signal })
  return settle({ client, item: worker, settling: WORKER_SETTLING, said: saidOf(worker) }, options, invoked)
}

function saidOf({ id, name, status, desired_status }: Worker): string {
  if (status === desired_status) return `${name} (${id}) is ${status} already`
  return `${name} (${id}) will be ${desired_status}; it is ${status} now`
}

const disasterOf = ({ id, name }: Worker) => ({ id, name, what: 'terminating', lost: 'its disk', asked: 'its name' })
