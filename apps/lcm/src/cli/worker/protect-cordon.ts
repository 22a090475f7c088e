import type { BodyInput } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { addCapacityYes, confirmCapacityChange } from '../fleet/confirm-capacity-change.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printOne, WORKER_VIEW } from '../resource-view.ts'

interface Options {
  readonly output?: Format
  readonly yes?: boolean
}

interface Mark {
  readonly name: string
  readonly summary: string
  readonly change: BodyInput<'patchWorker'>
  /** The new state, for the message. */
  readonly state: string
  isSo(worker: Worker): boolean
  readonly example: string
}

const PROTECT: Mark = {
  name: 'protect',
  summary: 'Protect a worker from termination',
  change: { protected: true },
  state: 'protected from termination',
  isSo: worker => worker.protected,
  example: 'lcm protect worker metal-3',
}
const UNPROTECT: Mark = {
  name: 'unprotect',
  summary: 'Remove the protection of a worker from termination',
  change: { protected: false },
  state: 'unprotected: it can be terminated',
  isSo: worker => !worker.protected,
  example: 'lcm unprotect worker metal-3 && lcm terminate worker metal-3',
}
const CORDON: Mark = {
  name: 'cordon',
  summary: 'Stop placing new sessions on a worker; existing sessions continue',
  change: { cordoned: true },
  state: 'cordoned: it gets no new sessions',
  isSo: worker => worker.cordoned,
  example: 'lcm cordon worker metal-3',
}
const UNCORDON: Mark = {
  name: 'uncordon',
  summary: 'Place new sessions on a worker again',
  change: { cordoned: false },
  state: 'uncordoned: it gets new sessions',
  isSo: worker => !worker.cordoned,
  example: 'lcm uncordon worker metal-3',
}

export const defineProtect = (group: Command, shell: Shell): void => addMark(group, PROTECT, shell)
export const defineUnprotect = (group: Command, shell: Shell): void => addMark(group, UNPROTECT, shell)
export const defineCordon = (group: Command, shell: Shell): void => addMark(group, CORDON, shell)
export const defineUncordon = (group: Command, shell: Shell): void => addMark(group, UNCORDON, shell)

function addMark(group: Command, mark: Mark, shell: Shell): void {
  const command = group.command('worker <id>').alias('workers').description(mark.summary).addOption(formatOption())
  if (mark === CORDON) addCapacityYes(command)
  command.action(async (idOrName: string, options: Options, invoked: Command) =>
    put(mark, idOrName, options, invocation(invoked, shell)),
  )
  group.addHelpText('afterAll', `\nExamples:\n  ${mark.example}`)
}

async function put(
  mark: Mark,
  idOrName: string,
  { output: format, yes = false }: Options,
  invoked: Invocation,
): Promise<void> {
  const { shell, output, connect } = invoked
  const { client } = await connect()
  const found = await findWorker(client, idOrName, shell.signal)
  const { id, name } = found
  if (mark === CORDON) await confirmCapacityChange(client, { name, change: { closed_workers: [id] }, yes }, invoked)
  const worker = await client.call('patchWorker', { params: { id }, body: mark.change, signal: shell.signal })
  if (format !== undefined) return printOne(WORKER_VIEW, worker, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(`${name} (${id}) is ${mark.isSo(found) ? 'already ' : ''}${mark.state}`)
}
