import type { LabAction, LabRecord } from '@lcm/domain/lab/lab-record'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findLab } from '../find-resource.ts'
import type { Invocation } from '../invocation.ts'
import { LABS } from '../resource-kinds.ts'
import { confirmByName } from '../terminal/confirm-by-name.ts'
import { printable } from '../terminal/table.ts'
import { impossible, reached, underWay, type Verdict, type Waited } from '../wait-for-goal.ts'
import { type ActionOptions, addAction, type Settling, settle } from '../waitable-command.ts'

interface LabOptions extends ActionOptions {
  readonly yes?: boolean
}

interface LabVerb {
  readonly route: 'startLab' | 'stopLab' | 'wipeLab' | 'deleteLab'
  readonly summary: string
  /** Past participle for messages, such as `stopped`. */
  readonly done: string
  /** Present if the action deletes data and must be confirmed. */
  readonly confirmation?: { readonly action: string; readonly loss: string }
}

const VERBS: Readonly<Record<LabAction, LabVerb>> = {
  start: { route: 'startLab', summary: 'Start a lab that no session uses', done: 'started' },
  stop: { route: 'stopLab', summary: 'Stop a lab that no session uses', done: 'stopped' },
  wipe: {
    route: 'wipeLab',
    summary: 'Erase the data that the nodes of a lab have stored',
    done: 'wiped',
    confirmation: { action: 'wiping', loss: 'the data stored by its nodes' },
  },
  delete: {
    route: 'deleteLab',
    summary: 'Stop and wipe a lab, and remove it from its worker',
    done: 'deleted',
    confirmation: { action: 'deleting', loss: 'the lab' },
  },
}

export function defineWipe(group: Command, shell: Shell): void {
  addLabVerb(group, 'wipe', shell)
  const examples = [
    'lcm stop lab lr-0n4k2m7a8q1cd --wait && lcm wipe lab lr-0n4k2m7a8q1cd',
    'lcm wipe lab lr-0n4k2m7a8q1cd --yes --wait     skip the confirmation, for scripts',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

/** Adds `lab <id>` to a verb. */
export function addLabVerb(group: Command, action: LabAction, shell: Shell): void {
  const verb = VERBS[action]
  const added = addAction<LabOptions>(group, shell, {
    noun: 'lab',
    summary: verb.summary,
    run: (idOrTitle, options, invoked) => act(verb, idOrTitle, options, invoked),
  })
  if (verb.confirmation !== undefined) added.option('-y, --yes', 'Skip the confirmation')
}

async function act(verb: LabVerb, idOrTitle: string, options: LabOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const { id, title: name } = await findLab(client, idOrTitle, signal)
  if (verb.confirmation !== undefined && !options.yes)
    await confirmByName({ id, name, expected: 'its title', ...verb.confirmation }, invoked)
  const lab = await client.call(verb.route, { params: { id }, body: { reason: options.reason }, signal })
  return settle({ client, item: lab, settling: LAB_SETTLING, message: messageOf(lab, verb) }, options, invoked)
}

const messageOf = ({ id, title, status }: LabRecord, { done }: LabVerb): string =>
  `${printable(title)} (${id}) will be ${done}; it is ${status} now`

/** Whether the requested action on a lab is done. */
function judge(lab: LabRecord, requested: LabRecord['pending_action']): Verdict {
  const { pending_action, last_error, status } = lab
  if (pending_action === null) return last_error === null ? reached : impossible(`is ${status}: ${last_error}`)
  if (pending_action.action === requested?.action) return underWay
  return impossible(`has a new pending action: ${pending_action.by} requested ${pending_action.action}`)
}

/** Waits until the requested action on a lab is done. */
const waitedLab = (start: LabRecord): Waited<LabRecord> => ({
  start,
  noun: 'lab',
  name: start.title,
  handle: start.id,
  mayVanish: start.pending_action?.action === 'delete',
  read: (client, signal) => client.call('getLab', { params: { id: start.id }, signal }),
  changed: LABS.changed,
  deleted: LABS.deleted,
  judge: lab => judge(lab, start.pending_action),
  progressText,
})

function progressText({ title, status, pending_action }: LabRecord): string {
  if (pending_action === null) return `${title} is ${status}`
  const error = pending_action.error === null ? '' : ` failed, retrying: ${pending_action.error}`
  return `${title} is ${status}: ${pending_action.action}${error || ' requested'}`
}

const LAB_SETTLING: Settling<LabRecord> = {
  view: LABS.view,
  waited: waitedLab,
  outcome: (lab, elapsed) => ({ sentence: `${lab.title} is ${lab.status} after ${elapsed}`, lines: [] }),
}
