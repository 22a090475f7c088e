import type { Client } from '@lcm/client/client'
import { CreateTemplate } from '@lcm/contract/fleet-bodies'
import type { AnswerOf, BodyInput } from '@lcm/contract/routes'
import { ROLES, type Role, SERVICES, type ServiceName } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { WorkerName } from '@lcm/domain/worker/worker'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { addCreateDefinition } from '../definition/create-definition.ts'
import { CliError, EXIT } from '../exit-code.ts'
import { complaintsOf } from '../files/schema-errors.ts'
import { readTextFile } from '../files/text-file.ts'
import { livingWorkers } from '../find.ts'
import { type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import { printOne, type ResourceView, TEMPLATE_VIEW } from '../resource-view.ts'
import type { Shell } from '../shell.ts'
import { parseDuration } from '../terminal/duration.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { addSettleOptions, type SettleOptions, settle } from '../wait-until-settled.ts'
import { WORKER_SETTLING } from '../worker/worker-wait.ts'

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
  readonly expires?: number
  readonly output?: Format
}

export function defineCreate(create: Command, shell: Shell): void {
  const worker = create
    .command('worker')
    .description('ask for a new worker')
    .requiredOption('-t, --template <name>', 'what to make it from (see `lcm get templates`)')
    .option('--region <region>', 'where to put it (default: the first region that LCM serves)')
    .option('--name <name>', 'what to call it (default: LCM finds a name)')
    .action(async (options: CreateWorkerOptions, command: Command) => createWorker(options, invocation(command, shell)))
  addSettleOptions(worker)
  create
    .command('template')
    .description('add a worker template from a file')
    .requiredOption('-f, --file <file>', 'YAML or JSON')
    .addOption(formatOption())
    .action(async (options: CreateTemplateOptions, command: Command) =>
      createTemplate(options, invocation(command, shell)),
    )
  addCreateDefinition(create, shell)
  create
    .command('token')
    .description('let somebody in: make a token, whose secret is printed once')
    .requiredOption('--name <name>', 'who will use it, as the audit will call them')
    .addOption(new Option('--role <role>', 'what it may do, see below').choices(ROLES).makeOptionMandatory())
    .addOption(new Option('--service <service>', 'with the role controller: for which service').choices(SERVICES))
    .option('--expires <duration>', 'how long it works, such as 12h or 90d (default: for ever)', lifetimeMs)
    .addOption(formatOption())
    .action(async (options: CreateTokenOptions, command: Command) => createToken(options, invocation(command, shell)))
    .addHelpText('after', ROLES_HELP)
  create.addHelpText('afterAll', EXAMPLES)
}

const ROLES_HELP = `
Roles:
  user          books labs, sees and ends its own sessions, reads the fleet
  author        the same, and defines labs
  operator      runs the fleet: workers, templates, licences, labs, everybody's sessions, the audit
  admin         everything, also tokens, settings and backups
  controller    for a service that runs as a process of its own, named with --service

Whoever has the secret uses it with --token or LCM_TOKEN. \`lcm get tokens\` lists tokens, \`lcm delete token\` takes one back.`

const EXAMPLES = `
Examples:
  lcm create worker --template metal                    ask, and come back at once
  lcm create worker --template metal --wait             stay until CML can be used
  lcm create worker -t metal --region eu-west-1 --name metal-9 -o json
  lcm create template -f metal.yaml
  lcm create definition --file bgp-basics.yaml --max-minutes 120
  lcm create token --role operator --name ci --expires 90d`

async function createWorker(options: CreateWorkerOptions, invoked: Invocation): Promise<void> {
  const { client } = await invoked.connect()
  if (options.name !== undefined) await refuseTaken(client, options.name, invoked.shell.signal)
  const worker = await client.call('createWorker', {
    body: { template_name: options.template, name: options.name, aws_region: options.region },
    signal: invoked.shell.signal,
  })
  const said = `${worker.name} (${worker.id}) is created in ${worker.aws_region} and will be ${worker.desired_status}`
  return settle({ client, item: worker, settling: WORKER_SETTLING, said }, options, invoked)
}

/** Two that live under one name could only be told apart by their ids. The API alone judges what is no name. */
async function refuseTaken(client: Client, name: string, signal: AbortSignal): Promise<void> {
  if (!WorkerName.safeParse(name).success) return
  const [taken] = await livingWorkers(client, name, signal)
  if (taken === undefined) return
  const next = `give another name, or see \`lcm get worker ${shellWord(name)}\``
  throw new CliError(EXIT.conflict, `a worker is named ${name} already (${taken.id}, ${taken.status}): ${next}`)
}

async function createTemplate(options: CreateTemplateOptions, { shell, output, connect }: Invocation): Promise<void> {
  const body = await readTemplate(options.file)
  const { client } = await connect()
  const template = await client.call('createTemplate', { body, signal: shell.signal })
  if (options.output !== undefined)
    return printOne(TEMPLATE_VIEW, template, { output, format: options.output, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(`template ${template.name} (${template.id}) is created`)
}

async function createToken(
  { name, role, service, expires, output: format }: CreateTokenOptions,
  invoked: Invocation,
): Promise<void> {
  const { client } = await invoked.connect()
  const ends = expires === undefined ? {} : { expires_at: toInstant(invoked.shell.clock.now() + expires) }
  const body = { name, role, ...(service === undefined ? {} : { service }), ...ends }
  const token = await client.call('createToken', { body, signal: invoked.shell.signal })
  if (format !== undefined) return printOne(TOKEN_VIEW, token, { output: invoked.output, format, nowMs: 0 })
  invoked.output.out(token.secret)
  invoked.output.note('Keep it, it is shown this once: use it with --token or LCM_TOKEN.')
  invoked.output.note(`\`lcm delete token ${token.id}\` takes it back.`)
}

const LIFETIME_MS_MAX = 3650 * 86_400_000

function lifetimeMs(text: string): number {
  const ms = parseDuration(text, LIFETIME_MS_MAX)
  if (ms === null) throw new InvalidArgumentError('Give a duration such as 12h or 90d, ten years at most.')
  return ms
}

type NewToken = AnswerOf<'createToken'>

/** Its secret is what it was made for. */
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
  throw new CliError(EXIT.failed, `${file} is no worker template: mend these fields and repeat`, details)
}

async function readDocument(file: string): Promise<unknown> {
  const [{ parse }, { yamlTrouble }] = await Promise.all([import('yaml'), import('../files/yaml-limits.ts')])
  const text = await readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.failed, `${file} can't be read (${error.code}): give a YAML or JSON file with -f`)
  })
  const trouble = yamlTrouble(text)
  if (trouble !== null)
    throw new CliError(EXIT.failed, `${file} can't be taken (${trouble}): give a simpler one with -f`)
  try {
    return parse(text, { logLevel: 'error' })
  } catch (error) {
    const [what] = String(error).split('\n')
    throw new CliError(EXIT.failed, `${file} is neither YAML nor JSON: ${what}`)
  }
}
