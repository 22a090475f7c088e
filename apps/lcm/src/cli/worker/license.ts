import { unlessMissing } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Command } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { findWorker } from '../find.ts'
import { type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { readSecret } from '../terminal/secret-input.ts'
import { addSettleOptions, type SettleOptions, settle } from '../wait-until-settled.ts'
import { licenseSettling, type Operation } from './license-wait.ts'

interface RegisterOptions extends SettleOptions {
  readonly product?: string
  readonly tokenFile?: string
}

export function defineLicense(license: Command, shell: Shell): void {
  const register = license
    .command('register <worker>')
    .description('register a worker with the licence that a token stands for')
    .option('--product <name>', 'such as CML_Enterprise (default: as the worker or its template has it)')
    .option('--token-file <file>', 'a file with the token; else standard input, or you are asked')
    .action(async (idOrName: string, options: RegisterOptions, command: Command) =>
      registerWorker(idOrName, options, invocation(command, shell)),
    )
  addSettleOptions(register)
  const deregister = license
    .command('deregister <worker>')
    .description('give the licence of a worker back')
    .action(async (idOrName: string, options: SettleOptions, command: Command) =>
      deregisterWorker(idOrName, options, invocation(command, shell)),
    )
  addSettleOptions(deregister)
  license.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
The token of a licence is never an argument, where other users of the machine could read it. --token is yours for LCM.

Examples:
  lcm license register metal-3 --wait                        asks for the token, without showing it
  lcm license register metal-3 --token-file token.txt --product CML_Enterprise
  pass show cml | lcm license register metal-3
  lcm license deregister metal-3 --wait`

async function registerWorker(idOrName: string, options: RegisterOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findWorker(client, idOrName, signal)
  const product = options.product ?? (await productOf(client, found, signal))
  const token = await readToken(options, found, invoked)
  const worker = await client.call('putWorkerLicense', { params: { id: found.id }, body: { product, token }, signal })
  return settleLicense({ client, worker, operation: 'register' }, options, invoked)
}

async function productOf(client: Client, worker: Worker, signal: AbortSignal): Promise<string> {
  const template = await unlessMissing(client.call('getTemplate', { params: { name: worker.template_name }, signal }))
  const product = worker.license.product ?? template?.license_product ?? null
  if (product !== null) return product
  const message = `neither ${worker.name} nor its template names a product: say which with --product, such as CML_Enterprise`
  throw new CliError(EXIT.usage, message)
}

async function readToken({ tokenFile }: RegisterOptions, worker: Worker, invoked: Invocation): Promise<string> {
  const token = (await readSecret('token', { file: tokenFile, worker }, invoked)).trim()
  const next = 'give one with --token-file, or on standard input'
  if (token === '') throw new CliError(EXIT.usage, `there is no token: ${next}`)
  if (/\s/.test(token)) throw new CliError(EXIT.usage, `a token is one word, and this is more than that: ${next}`)
  return token
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
  return settle({ client, item: worker, settling, said: saidOf(worker, operation) }, options, invoked)
}

function saidOf({ id, name, status, license }: Worker, operation: Operation): string {
  const when = status === 'RUNNING' ? '' : ` as soon as it runs; it is ${status} now`
  return operation === 'register'
    ? `${name} (${id}) will be registered for ${license.product}${when}`
    : `${name} (${id}) will give its licence back${when}`
}
