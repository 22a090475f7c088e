import type { Client } from '@lcm/client/client'
import type { AnswerOf, BodyInput } from '@lcm/contract/routes'
import { CreateTemplate } from '@lcm/contract/template'
import { ROLES, type Role, SERVICES, type ServiceName } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { WorkerName } from '@lcm/domain/worker/worker'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { addCreateDefinition } from '../definition/create-definition.ts'
import { complaintsOf } from '../files/schema-errors.ts'
import { readTextFile } from '../files/text-file.ts'
import { livingWorkers } from '../find-resource.ts'
import { warnAboutBudget } from '../fleet/warn-about-budget.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { addCreateLicensePool } from '../license/license-pool-commands.ts'
import { addCreateTarget } from '../notification/target-commands.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { addCreatePerson } from '../person/person-commands.ts'
import { PEOPLE } from '../person/person-kind.ts'
import { printOne, type ResourceView, TEMPLATE_VIEW } from '../resource-view.ts'
import { parseDuration } from '../terminal/duration.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { addSettleOptions, type SettleOptions, settle } from '../waitable-command.ts'
import { WORKER_SETTLING } from '../worker/worker-wait-goal.ts'

interface CreateWorkerOptions extends SettleOptions {
  readonly template: string
  readonly region?: string
  readonly name?: string
}

interface CreateTemplateOptions {
  readonly file: string
  readonly output?: Format
}

interface CreateTokenOptions {
  readonly name: string
  readonly role: Role
  readonly service?: ServiceName
  readonly person?: string
  readonly expires?: number
  readonly output?: Format
}

export function defineCreate(create: Command, shell: Shell): void {
  const worker = create
    .command('worker')
    .description('Create a worker')
    .requiredOption('-t, --template <name>', 'Worker template (list them with `lcm get templates`)')
    .option('--region <region>', 'AWS region (default: the first region of this LCM)')
    .option('--name <name>', 'Worker name (default: generated)')
    .action(async (options: CreateWorkerOptions, command: Command) => createWorker(options, invocation(command, shell)))
  addSettleOptions(worker)
  create
    .command('template')
    .description('Create a worker template from a file')
    .requiredOption('-f, --file <file>', 'YAML or JSON file')
    .addOption(formatOption())
    .action(async (options: CreateTemplateOptions, command: Command) =>
      createTemplate(options, invocation(command, shell)),
    )
  addCreateDefinition(create, shell)
  addCreatePerson(create, shell)
  addCreateToken(create, shell)
  addCreateTarget(create, shell)
  addCreateLicensePool(create, shell)
  create.addHelpText('afterAll', EXAMPLES)
}

function addCreateToken(create: Command, shell: Shell): void {
  create
    .command('token')
    .description('Create an API token and print its secret once')
    .requiredOption('--name <name>', 'What the token is for')
    .addOption(new Option('--role <role>', 'Role of the token, see below').choices(ROLES).makeOptionMandatory())
    .option('--person <person>', 'Person that it belongs to (default: a new person with this name and role)')
    .addOption(
      new Option('--service <service>', 'Service that uses the token (role controller only)').choices(SERVICES),
    )
    .option('--expires <duration>', 'Lifetime, such as 12h or 90d (default: no expiry)', lifetimeMs)
    .addOption(formatOption())
    .action(async (options: CreateTokenOptions, command: Command) => createToken(options, invocation(command, shell)))
    .addHelpText('after', ROLES_HELP)
}

const ROLES_HELP = `
Roles:
  user          book labs, see and cancel own sessions, view the fleet
  author        like user, and create definitions
  operator      manage workers, templates, licenses, labs, all sessions, and people who are users or authors;
                read the audit log
  admin         everything, including tokens, settings and backups
  controller    for a service that runs as a separate process, with --service

Use the secret with --token or LCM_TOKEN. List tokens with \`lcm get tokens\`, revoke one with \`lcm delete token\`.`

const EXAMPLES = `
Examples:
  lcm create worker --template metal                    return immediately
  lcm create worker --template metal --wait             wait until CML is ready
  lcm create worker -t metal --region eu-west-1 --name metal-9 -o json
  lcm create template -f metal.yaml
  lcm create definition --file bgp-basics.yaml --max-minutes 120
  lcm create person "Jane Doe" --role user --email jane@example.org --group bgp-101
  lcm create token --role operator --name ci --expires 90d
  lcm create token --role user --name laptop --person jane@example.org     replaces a lost token
  lcm create target ops --type slack --url-file slack-url.txt --severity warning
  lcm create license-pool CML_Enterprise --seats 4 --token-file token.txt`

async function createWorker(options: CreateWorkerOptions, invoked: Invocation): Promise<void> {
  const { client } = await invoked.connect()
  if (options.name !== undefined) await refuseTaken(client, options.name, invoked.shell.signal)
  const worker = await client.call('createWorker', {
    body: { template_name: options.template, name: options.name, aws_region: options.region },
    signal: invoked.shell.signal,
  })
  const message = `${worker.name} (${worker.id}) created in ${worker.aws_region}; it will be ${worker.desired_status}`
  await warnAboutBudget(client, invoked)
  return settle({ client, item: worker, settling: WORKER_SETTLING, message }, options, invoked)
}

/** Refuses a name that a worker already has, because commands identify workers by name. The API validates the name itself. */
async function refuseTaken(client: Client, name: string, signal: AbortSignal): Promise<void> {
  if (!WorkerName.safeParse(name).success) return
  const [taken] = await livingWorkers(client, name, signal)
  if (taken === undefined) return
  const next = `choose another name, or see \`lcm get worker ${shellWord(name)}\``
  throw new CliError(EXIT.conflict, `worker ${name} already exists (${taken.id}, ${taken.status})`, next)
}

async function createTemplate(options: CreateTemplateOptions, { shell, output, connect }: Invocation): Promise<void> {
  const body = await readTemplate(options.file)
  const { client } = await connect()
  const template = await client.call('createTemplate', { body, signal: shell.signal })
  if (options.output !== undefined)
    return printOne(TEMPLATE_VIEW, template, { output, format: options.output, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(`template ${template.name} (${template.id}) created`)
}

async function createToken(
  { name, role, service, person, expires, output: format }: CreateTokenOptions,
  invoked: Invocation,
): Promise<void> {
  const { client } = await invoked.connect()
  const ends = expires === undefined ? {} : { expires_at: toInstant(invoked.shell.clock.now() + expires) }
  const owner = person === undefined ? null : await PEOPLE.find(client, person, invoked.shell.signal)
  const owned = owner === null ? {} : { person_id: owner.id }
  const body = { name, role, ...(service === undefined ? {} : { service }), ...owned, ...ends }
  const token = await client.call('createToken', { body, signal: invoked.shell.signal })
  if (format !== undefined) return printOne(TOKEN_VIEW, token, { output: invoked.output, format, nowMs: 0 })
  invoked.output.out(token.secret)
  invoked.output.note("Copy it now. It won't be shown again. Use it with --token or LCM_TOKEN.")
  invoked.output.note(`Revoke it with: lcm delete token ${token.id}`)
  if (owner === null && token.person_id !== null)
    invoked.output.note(`Replace it, and keep its sessions, with: lcm create token --person ${token.person_id} ...`)
}

const LIFETIME_MS_MAX = 3650 * 86_400_000

function lifetimeMs(text: string): number {
  const ms = parseDuration(text, LIFETIME_MS_MAX)
  if (ms === null) throw new InvalidArgumentError('Give a duration such as 12h or 90d, at most 10 years.')
  return ms
}

type NewToken = AnswerOf<'createToken'>

/** Shows the secret, which is only available at creation. */
const TOKEN_VIEW: ResourceView<NewToken> = {
  nameOf: token => token.name,
  columns: () => [
    { title: 'NAME', text: token => token.name },
    { title: 'ID', text: token => token.id },
    { title: 'ROLE', text: token => token.role },
    { title: 'SECRET', text: token => token.secret },
  ],
  whenEmpty: '',
}

async function readTemplate(file: string): Promise<BodyInput<'createTemplate'>> {
  const spec = CreateTemplate.safeParse(await readDocument(file))
  if (spec.success) return spec.data
  const details = complaintsOf(spec.error.issues, '(file)')
  throw new CliError(EXIT.failed, `${file} is not a valid worker template`, 'fix these fields and try again', details)
}

async function readDocument(file: string): Promise<unknown> {
  const [{ parse }, { yamlTrouble }] = await Promise.all([import('yaml'), import('../files/yaml-limits.ts')])
  const text = await readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.failed, `${file} can't be read (${error.code})`, 'use -f with a YAML or JSON file')
  })
  const trouble = yamlTrouble(text)
  if (trouble !== null) throw new CliError(EXIT.failed, `${file} can't be parsed (${trouble})`, 'use a simpler file')
  try {
    return parse(text, { logLevel: 'error' })
  } catch (error) {
    const [what] = String(error).split('\n')
    throw new CliError(EXIT.failed, `${file} is not valid YAML or JSON: ${what}`)
  }
}
