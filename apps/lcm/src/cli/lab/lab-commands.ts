import type { LabAction, LabRecord } from '@lcm/domain/lab/lab-record'
import type { Command } from 'commander'
import { findLab } from '../definition/find.ts'
import { type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { confirmByName } from '../terminal/confirm.ts'
import { printable } from '../terminal/table.ts'
import { addSettleOptions, type SettleOptions, settle } from '../wait-until-settled.ts'
import { LAB_SETTLING } from './lab-wait.ts'

interface LabOptions extends SettleOptions {
  readonly reason?: string
  readonly yes?: boolean
}

interface LabVerb {
  readonly route: 'startLab' | 'stopLab' | 'wipeLab' | 'deleteLab'
  readonly summary: string
  /** What will have been done. */
  readonly done: string
  /** What is lost for good, and how that is called; absent where nothing is. */
  readonly disaster?: { readonly what: string; readonly lost: string }
}

const VERBS: Readonly<Record<LabAction, LabVerb>> = {
  start: { route: 'startLab', summary: 'have a lab started that no session uses', done: 'started' },
  stop: { route: 'stopLab', summary: 'have a lab stopped that no session uses', done: 'stopped' },
  wipe: {
    route: 'wipeLab',
    summary: 'have all that nodes of a lab have stored thrown away',
    done: 'wiped',
    disaster: { what: 'wiping', lost: 'all that its nodes have stored' },
  },
  delete: {
    route: 'deleteLab',
    summary: 'have a lab stopped, wiped and removed from its worker',
    done: 'deleted',
    disaster: { what: 'deleting', lost: 'the lab' },
  },
}

export function defineWipe(group: Command, shell: Shell): void {
  addLabVerb(group, 'wipe', shell)
  const examples = [
    'lcm stop lab lr-0n4k2m7a8q1cd --wait && lcm wipe lab lr-0n4k2m7a8q1cd',
    'lcm wipe lab lr-0n4k2m7a8q1cd --yes --wait     does not ask, for scripts',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

/** Teaches a verb to take a lab. */
export function addLabVerb(group: Command, action: LabAction, shell: Shell): void {
  const verb = VERBS[action]
  const noun = group
    .command('lab <id>')
    .alias('labs')
    .description(verb.summary)
    .option('--reason <text>', 'why, for those who ask later')
    .action(async (idOrTitle: string, options: LabOptions, command: Command) =>
      act(verb, idOrTitle, options, invocation(command, shell)),
    )
  if (verb.disaster !== undefined) noun.option('-y, --yes', 'do not ask for the title of the lab')
  addSettleOptions(noun)
}

async function act(verb: LabVerb, idOrTitle: string, options: LabOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const { id, title: name } = await findLab(client, idOrTitle, signal)
  if (verb.disaster !== undefined && !options.yes)
    await confirmByName({ id, name, asked: 'its title', ...verb.disaster }, invoked)
  const lab = await client.call(verb.route, { params: { id }, body: { reason: options.reason }, signal })
  return settle({ client, item: lab, settling: LAB_SETTLING, said: saidOf(lab, verb) }, options, invoked)
}

const saidOf = ({ id, title, status }: LabRecord, { done }: LabVerb): string =>
  `${printable(title)} (${id}) will be ${done}; it is ${status} now`
