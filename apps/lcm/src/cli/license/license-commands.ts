import { type Client, unlessMissing } from '@lcm/client/client'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import type { License } from '@lcm/domain/worker/worker-field-schemas'
import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { printable } from '../terminal/table.ts'
import { impossible, reached, underWay, type Verdict } from '../wait-for-goal.ts'
import { addSettleOptions, type SettleOptions, type Settling, settle } from '../waitable-command.ts'
import { readSecret } from '../worker/read-secret.ts'
import { WORKER_SETTLING, waitedWorker } from '../worker/worker-wait-goal.ts'
import { tokenIn } from './license-pool-commands.ts'

interface RegisterOptions extends SettleOptions {
  readonly product?: string
  readonly tokenFile?: string
  readonly fromPool?: boolean
}

export function defineLicense(license: Command, shell: Shell): void {
  const register = license
    .command('register <worker>')
    .description('Register the license of a worker with a Smart Licensing token')
    .option('--product <name>', 'License product, such as CML_Enterprise (default: from the worker or its template)')
    .option('--token-file <file>', 'File with the token (default: standard input, or a prompt)')
    .option('--from-pool', 'Take a seat of the license pool of the product instead of a token')
    .action(async (idOrName: string, options: RegisterOptions, command: Command) =>
      registerWorker(idOrName, options, invocation(command, shell)),
    )
  addSettleOptions(register)
  const deregister = license
    .command('deregister <worker>')
    .description('Deregister the license of a worker')
    .action(async (idOrName: string, options: SettleOptions, command: Command) =>
      deregisterWorker(idOrName, options, invocation(command, shell)),
    )
  addSettleOptions(deregister)
  license.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
The Smart Licensing token is not an option, because other users of the computer could read it. --token is your API token for LCM.

Examples:
  lcm license register metal-3 --wait                        prompts for the token
  lcm license register metal-3 --token-file token.txt --product CML_Enterprise
  pass show cml | lcm license register metal-3
  lcm license register metal-3 --from-pool                   see \`lcm get licenses\`
  lcm license deregister metal-3 --wait`

async function registerWorker(idOrName: string, options: RegisterOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findWorker(client, idOrName, signal)
  const product = options.product ?? (await productOf(client, found, signal))
  const token = await tokenOf(options, found, invoked)
  const worker = await client.call('putWorkerLicense', {
    params: { id: found.id },
    body: { product, ...token },
    signal,
  })
  return settleLicense({ client, worker, operation: 'register' }, options, invoked)
}

async function productOf(client: Client, worker: Worker, signal: AbortSignal): Promise<string> {
  const template = await unlessMissing(client.call('getTemplate', { params: { name: worker.template_name }, signal }))
  const product = worker.license.product ?? template?.license_product ?? null
  if (product !== null) return product
  const message = `${worker.name} and its template have no license product`
  throw new CliError(EXIT.usage, message, 'set it with --product, such as CML_Enterprise')
}

async function tokenOf({ tokenFile: file, fromPool = false }: RegisterOptions, worker: Worker, invoked: Invocation) {
  if (fromPool) return {}
  const owner = `${worker.name} (${worker.id})`
  return { token: tokenIn(await readSecret('token', { file, owner }, invoked)) }
}

async function deregisterWorker(idOrName: string, options: SettleOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const { id } = await findWorker(client, idOrName, signal)
  const worker = await client.call('deleteWorkerLicense', { params: { id }, signal })
  return settleLicense({ client, worker, operation: 'deregister' }, options, invoked)
}

interface Asked {
  readonly client: Client
  readonly worker: Worker
  readonly operation: Operation
}

function settleLicense({ client, worker, operation }: Asked, options: SettleOptions, invoked: Invocation) {
  const settling = licenseSettling(operation)
  return settle({ client, item: worker, settling, message: messageOf(worker, operation) }, options, invoked)
}

function messageOf({ id, name, status, license }: Worker, operation: Operation): string {
  const when = status === 'RUNNING' ? '' : ` when it is RUNNING; it is ${status} now`
  if (operation === 'register' && license.seat === 'wanted')
    return `${name} (${id}) waits for a free seat of the license pool ${license.product}: see \`lcm get licenses\``
  return operation === 'register'
    ? `${name} (${id}) will be registered for ${license.product}${when}`
    : `${name} (${id}) will be deregistered${when}`
}

type Operation = NonNullable<License['pending_operation']>

const GOALS: Readonly<Record<Operation, License['status']>> = { register: 'REGISTERED', deregister: 'UNREGISTERED' }

/** Whether the license operation is done, in progress or impossible. */
function judgeLicense(worker: Worker, operation: Operation): Verdict {
  const { license, status, desired_status } = worker
  if (status === 'TERMINATED') return impossible('is TERMINATED')
  if (license.pending_operation === operation) {
    const isStopped = status === 'STOPPED' && desired_status === 'STOPPED'
    return isStopped
      ? impossible(
          `is STOPPED, and a license can only change on a RUNNING worker: run \`lcm start worker ${shellWord(worker.name)}\``,
        )
      : underWay
  }
  if (operation === 'register' && license.seat === 'wanted') return underWay
  if (license.status === GOALS[operation]) return reached
  if (license.status === 'FAILED') return impossible(`could not ${operation} its license: ${errorOf(license)}`)
  return impossible(`did not ${operation} its license, which is ${license.status}: ${errorOf(license)}`)
}

const errorOf = ({ last_error }: License): string => last_error ?? 'no reason is recorded'

function progressText({ name, status, license, conditions }: Worker): string {
  const missing = conditions.find(({ type }) => type === CONDITION.seatMissing)
  if (missing !== undefined) return `${name} has no license yet: ${missing.reason.message}`
  if (status !== 'RUNNING') return `${name} is ${status}: its license changes when it is RUNNING`
  return `the license of ${name} is ${license.status}${license.last_error === null ? '' : `: ${license.last_error}`}`
}

const licenseSettling = (operation: Operation): Settling<Worker> => ({
  ...WORKER_SETTLING,
  waited: start => ({
    ...waitedWorker(start),
    mayVanish: false,
    judge: worker => judgeLicense(worker, operation),
    progressText,
  }),
  outcome: ({ name, license }, elapsed) => ({
    sentence: printable(
      `the license of ${name} is ${license.status} after ${elapsed}${license.udi === null ? '' : `: ${license.udi}`}`,
    ),
    lines: license.last_error === null ? [] : [printable(`${license.last_error}; see \`lcm get leaks\``)],
  }),
})
