import type { Worker } from '@lcm/domain/worker/worker'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { addCapacityYes, confirmCapacityChange, listCapacityLoss } from '../fleet/confirm-capacity-change.ts'
import { warnAboutBudget } from '../fleet/warn-about-budget.ts'
import type { Invocation } from '../invocation.ts'
import { addLabVerb } from '../lab/lab-commands.ts'
import { RETRY_NOTIFICATION } from '../notification/target-commands.ts'
import { addOneStep } from '../one-step-command.ts'
import { addSessionRetry } from '../session/session-lifecycle-commands.ts'
import { confirmByName } from '../terminal/confirm-by-name.ts'
import { type ActionOptions, addAction, settle } from '../waitable-command.ts'
import { WORKER_SETTLING } from './worker-wait-goal.ts'

interface ActOptions extends ActionOptions {
  readonly yes?: boolean
  readonly force?: boolean
}

interface Verb {
  readonly name: 'start' | 'stop' | 'terminate' | 'retry'
  readonly route: 'startWorker' | 'stopWorker' | 'terminateWorker' | 'retryWorker'
  readonly summary: string
}

const START: Verb = { name: 'start', route: 'startWorker', summary: 'Start a worker' }
const STOP: Verb = { name: 'stop', route: 'stopWorker', summary: 'Stop a worker and keep its disk' }
const TERMINATE: Verb = {
  name: 'terminate',
  route: 'terminateWorker',
  summary: 'Terminate a worker permanently, and delete its disk',
}
const RETRY: Verb = { name: 'retry', route: 'retryWorker', summary: 'Retry the step that made a worker FAILED' }

const FORCE = 'End the sessions on the worker, if there are any'

export function defineStart(group: Command, shell: Shell): void {
  addWorkerVerb(group, START, shell)
  addLabVerb(group, 'start', shell)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm start worker metal-3
  lcm start worker metal-3 --wait --timeout 30m
  lcm start lab "BGP basics" --wait            a lab that no session uses`,
  )
}

export function defineStop(group: Command, shell: Shell): void {
  addCapacityYes(addWorkerVerb(group, STOP, shell)).option('--force', FORCE)
  addLabVerb(group, 'stop', shell)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm stop worker metal-3 --reason "over the weekend"
  lcm stop worker metal-3 --wait
  lcm stop lab "BGP basics"                    a lab that no session uses`,
  )
}

export function defineTerminate(group: Command, shell: Shell): void {
  addWorkerVerb(group, TERMINATE, shell).option('-y, --yes', 'Skip the confirmation').option('--force', FORCE)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm terminate worker metal-3 --wait      confirm by typing the name
  lcm terminate worker metal-3 --yes       skip the confirmation, for scripts`,
  )
}

export function defineRetry(group: Command, shell: Shell): void {
  addWorkerVerb(group, RETRY, shell)
  addSessionRetry(group, shell)
  addOneStep(group, RETRY_NOTIFICATION, shell)
  group.addHelpText(
    'afterAll',
    `
Examples:
  lcm retry worker metal-3 --wait              a worker that is FAILED
  lcm retry session ls-0n4k2m7a8q1cd --wait    a session whose lab failed to start or was stopped
  lcm retry notification no-0n4k2m7a8q1cd      a message that LCM gave up`,
  )
}

function addWorkerVerb(group: Command, verb: Verb, shell: Shell): Command {
  const { summary } = verb
  return addAction<ActOptions>(group, shell, {
    noun: 'worker',
    summary,
    run: (idOrName, options, invoked) => act(verb, idOrName, options, invoked),
  })
}

async function act(verb: Verb, idOrName: string, options: ActOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findWorker(client, idOrName, signal)
  const { id, name } = found
  if (verb.name === 'stop')
    await confirmCapacityChange(client, { name, change: { closed_workers: [id] }, yes: options.yes }, invoked)
  if (verb.name === 'terminate' && !options.yes) {
    const loss = await listCapacityLoss(client, { terminated_workers: [id] }, invoked)
    if (loss !== null) invoked.output.warn(`${loss}.`)
    await confirmByName(terminationOf(found), invoked)
  }
  const body = { reason: options.reason, ...(options.force ? { force: true } : {}) }
  const worker = await client.call(verb.route, { params: { id }, body, signal })
  if (verb.name === 'start') await warnAboutBudget(client, invoked)
  return settle({ client, item: worker, settling: WORKER_SETTLING, message: messageOf(worker) }, options, invoked)
}

function messageOf({ id, name, status, desired_status }: Worker): string {
  if (status === desired_status) return `${name} (${id}) is already ${status}`
  return `${name} (${id}) will be ${desired_status}; it is ${status} now`
}

const terminationOf = ({ id, name }: Worker) => ({
  id,
  name,
  action: 'terminating',
  loss: 'its disk',
  expected: 'its name',
})
