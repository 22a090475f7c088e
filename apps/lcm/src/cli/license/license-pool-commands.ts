import type { LicensePoolView } from '@lcm/contract/license/license-pool'
import { LICENSE_SEATS_MAX } from '@lcm/domain/license/license-pool'
import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { addCapacityYes, confirmCapacityChange } from '../fleet/confirm-capacity-change.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption, wholeNumber } from '../option-parsers.ts'
import { printOne } from '../resource-view.ts'
import { readSecret } from '../worker/read-secret.ts'
import { LICENSE_POOL_VIEW, LICENSE_POOLS } from './license-pool-kind.ts'

interface PoolOptions {
  readonly seats?: number
  readonly tokenFile?: string
  readonly output?: Format
  readonly yes?: boolean
}

const seats = wholeNumber(1, LICENSE_SEATS_MAX)

export function addCreateLicensePool(create: Command, shell: Shell): void {
  create
    .command('license-pool <product>')
    .description('Create a pool of licenses that workers take and return by themselves')
    .requiredOption('--seats <count>', 'How many workers it licenses', seats)
    .option('--token-file <file>', 'File with the Smart Licensing token (default: standard input, or a prompt)')
    .addOption(formatOption())
    .action(async (product: string, options: PoolOptions & { seats: number }, command: Command) => {
      const invoked = invocation(command, shell)
      const token = await readToken(product, options, invoked)
      const { client } = await invoked.connect()
      const body = { product, seats: options.seats, token }
      const pool = await client.call('createLicensePool', { body, signal: shell.signal })
      await print(pool, `license pool ${product} created`, options, invoked)
    })
}

export function addEditLicensePool(edit: Command, shell: Shell): void {
  const command = edit
    .command('license-pool <product>')
    .alias('license-pools')
    .description('Change the number of seats of a license pool, or its token')
    .option('--seats <count>', 'How many workers it licenses', seats)
    .option('--token-file <file>', 'File with another Smart Licensing token')
    .addOption(formatOption())
  addCapacityYes(command).action(async (product: string, options: PoolOptions, called: Command) => {
    const invoked = invocation(called, shell)
    if (options.seats === undefined && options.tokenFile === undefined)
      throw new CliError(EXIT.usage, 'nothing to change', 'use --seats or --token-file')
    const token = options.tokenFile === undefined ? {} : { token: await readToken(product, options, invoked) }
    const { client } = await invoked.connect()
    const current = await LICENSE_POOLS.find(client, product, shell.signal)
    const body = { seats: options.seats ?? current.seats, ...token }
    if (body.seats < current.seats) {
      const change = { license_pools: [{ product: current.product, seats: body.seats }] }
      await confirmCapacityChange(client, { name: current.product, change, yes: options.yes }, invoked)
    }
    const call = { params: { product: current.product }, body, signal: shell.signal }
    const pool = await client.call('putLicensePool', call)
    const isSame = pool.version === current.version
    await print(pool, `license pool ${pool.product} ${isSame ? 'unchanged' : 'changed'}`, options, invoked)
  })
}

/** A Smart Licensing token from a file, standard input or a prompt. */
export async function readToken(
  product: string,
  { tokenFile: file }: Pick<PoolOptions, 'tokenFile'>,
  invoked: Invocation,
): Promise<string> {
  return tokenIn(await readSecret('token', { file, owner: product }, invoked))
}

export function tokenIn(text: string): string {
  const token = text.trim()
  const next = 'use --token-file or standard input'
  if (token === '') throw new CliError(EXIT.usage, 'the token is empty', next)
  if (/\s/.test(token)) throw new CliError(EXIT.usage, 'the token contains spaces or line breaks', next)
  return token
}

async function print(
  pool: LicensePoolView,
  message: string,
  { output: format }: PoolOptions,
  { shell, output }: Invocation,
): Promise<void> {
  if (format !== undefined) return printOne(LICENSE_POOL_VIEW, pool, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(`${message}: ${pool.free} of ${pool.seats} seats free`)
}
