import { PERSON_ROLES, type Person, type PersonRole } from '@lcm/domain/person'
import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printOne } from '../resource-view.ts'
import { formatDuration } from '../terminal/duration.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { printable } from '../terminal/table.ts'
import { PEOPLE, PERSON_VIEW } from './person-kind.ts'

interface PersonOptions {
  readonly name?: string
  readonly email?: string
  readonly role?: PersonRole
  readonly group?: readonly string[]
  readonly output?: Format
}

const roleOption = () => new Option('--role <role>', 'What the person may do').choices(PERSON_ROLES)
const label = ({ name, id }: Pick<Person, 'name' | 'id'>) => `${printable(name)} (${id})`

export function addCreatePerson(create: Command, shell: Shell): void {
  create
    .command('person <name>')
    .description('Create a person, who can then be invited or get a token')
    .addOption(roleOption().makeOptionMandatory())
    .option('--email <address>', 'Email address')
    .option('--group <group...>', 'Groups, such as a class')
    .addOption(formatOption())
    .action(async (name: string, options: PersonOptions, command: Command) => {
      const invoked = invocation(command, shell)
      const { client } = await invoked.connect()
      const { role = 'user', email = null, group = [] } = options
      const body = { name, role, email, groups: [...group] }
      const person = await client.call('createPerson', { body, signal: shell.signal })
      await print(person, `person ${label(person)} created`, options, invoked)
      invoked.output.note(`Send a login link with: lcm invite ${shellWord(person.name)}`)
    })
}

export function addEditPerson(edit: Command, shell: Shell): void {
  edit
    .command('person <id>')
    .alias('people')
    .description('Change a person; a new role ends all sign-ins')
    .option('--name <name>', 'Name')
    .addOption(roleOption())
    .option('--email <address>', 'Email address; "" removes it')
    .option('--group <group...>', 'All groups of the person; "" removes them')
    .addOption(formatOption())
    .action(async (idOrName: string, options: PersonOptions, command: Command) =>
      editPerson(idOrName, options, invocation(command, shell)),
    )
}

async function editPerson(idOrName: string, options: PersonOptions, invoked: Invocation): Promise<void> {
  const { name, role, email, group } = options
  const { shell, connect } = invoked
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(role === undefined ? {} : { role }),
    ...(email === undefined ? {} : { email: email === '' ? null : email }),
    ...(group === undefined ? {} : { groups: group.filter(each => each !== '') }),
  }
  if (Object.keys(body).length === 0)
    throw new CliError(EXIT.usage, 'nothing to change', 'use --name, --role, --email or --group')
  const { client } = await connect()
  const { id, version } = await PEOPLE.find(client, idOrName, shell.signal)
  const person = await client.call('patchPerson', { params: { id }, body, ifMatch: version, signal: shell.signal })
  const isSame = person.version === version
  await print(person, `person ${label(person)} ${isSame ? 'unchanged' : 'changed'}`, options, invoked)
}

async function print(person: Person, message: string, { output: format }: PersonOptions, invoked: Invocation) {
  const { shell, output } = invoked
  if (format !== undefined) return printOne(PERSON_VIEW, person, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(message)
}

export function defineInvite(invite: Command, shell: Shell): void {
  invite
    .argument('<person>', 'Id, unique name or email address')
    .action(async (wanted: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client, url } = await connect()
      const person = await PEOPLE.find(client, wanted, shell.signal)
      const link = await client.call('invitePerson', { params: { id: person.id }, signal: shell.signal })
      output.out(new URL(link.url, url).href)
      const lifetime = formatDuration(link.expires_in_seconds * 1000)
      output.note(
        `Send it to ${printable(person.name)} only: anyone who opens it within ${lifetime} is signed in as this person. It works once.`,
      )
    })
    .addHelpText(
      'afterAll',
      '\nExamples:\n  lcm invite "Jane Doe"             print a link that signs Jane in\n  lcm invite jane@example.org',
    )
}

export function defineRevoke(revoke: Command, shell: Shell): void {
  revoke
    .argument('<person>', 'Id, unique name or email address')
    .action(async (wanted: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const person = await PEOPLE.find(client, wanted, shell.signal)
      await client.call('revokePerson', { params: { id: person.id }, signal: shell.signal })
      if (output.quiet) return
      output.out(`all tokens and sign-ins of ${label(person)} ended`)
      if (person.source === 'built-in')
        output.note(
          'The administrator token that LCM starts with still works. If someone else knows it, replace it and restart LCM.',
        )
      output.note(
        'Lab sessions continue, and the person can be invited again. End sessions with: lcm cancel session ID',
      )
    })
    .addHelpText('afterAll', '\nExamples:\n  lcm revoke "Jane Doe"     for example when her laptop was stolen')
}

export function defineMerge(group: Command, shell: Shell): void {
  group
    .command('person <id>')
    .alias('people')
    .description('Give all sessions and tokens of a person to another one, and remove the first')
    .requiredOption('--into <person>', 'Person that gets everything')
    .action(async (wanted: string, options: { into: string }, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const from = await PEOPLE.find(client, wanted, shell.signal)
      const into = await PEOPLE.find(client, options.into, shell.signal)
      await client.call('mergePerson', { params: { id: from.id }, body: { into: into.id }, signal: shell.signal })
      if (!output.quiet) output.out(`person ${label(from)} merged into ${label(into)}`)
    })
  group.addHelpText('afterAll', '\nExamples:\n  lcm merge person token:tk-5k1r2m3n8pq4t --into jane@example.org')
}
