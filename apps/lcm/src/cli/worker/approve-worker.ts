import type { Worker } from '@lcm/domain/worker/worker'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printOne, WORKER_VIEW } from '../resource-view.ts'
import { printable } from '../terminal/table.ts'

interface TrustOptions {
  readonly fingerprint?: string
  readonly reason?: string
  readonly output?: Format
}

const FINGERPRINT = 'SHA-256 fingerprint of the certificate that its CML must show'

export function defineApprove(group: Command, shell: Shell): void {
  addVerb(group, 'Let a machine that LCM did not launch get passwords, licenses and sessions')
    .option('--fingerprint <sha256>', FINGERPRINT)
    .action(async (idOrName: string, options: TrustOptions, command: Command) =>
      approve(idOrName, options, invocation(command, shell)),
    )
  group.addHelpText(
    'afterAll',
    `
LCM sends the machine its own CML password, or else CML_DEFAULT_PASSWORD: run \`lcm set credentials\` first if the owner of the
machine must not learn that one. Without --fingerprint LCM pins the certificate that the machine shows next.

To read the fingerprint on the machine itself:
  openssl x509 -noout -fingerprint -sha256 -in CERTIFICATE

Examples:
  lcm approve worker metal-3 --fingerprint 5F:1C:0D:9A:...
  lcm approve worker metal-3`,
  )
}

export function defineRepin(group: Command, shell: Shell): void {
  addVerb(group, 'Pin the new certificate of a CML, such as after its reinstallation')
    .requiredOption('--fingerprint <sha256>', FINGERPRINT)
    .action(async (idOrName: string, options: TrustOptions, command: Command) =>
      repin(idOrName, options, invocation(command, shell)),
    )
  group.addHelpText('afterAll', '\nExamples:\n  lcm repin worker metal-3 --fingerprint 5F:1C:0D:9A:...')
}

const addVerb = (group: Command, summary: string): Command =>
  group
    .command('worker <id>')
    .alias('workers')
    .description(summary)
    .option('--reason <text>', 'Reason, recorded in the audit log')
    .addOption(formatOption())

const bodyOf = ({ reason }: TrustOptions) => (reason === undefined ? {} : { reason })

async function approve(idOrName: string, options: TrustOptions, invoked: Invocation): Promise<void> {
  const { shell } = invoked
  const { client } = await invoked.connect()
  const before = await findWorker(client, idOrName, shell.signal)
  const { id } = before
  const { fingerprint } = options
  const body = { ...bodyOf(options), ...(fingerprint === undefined ? {} : { fingerprint }) }
  const worker = await client.call('approveWorker', { params: { id }, body, signal: shell.signal })
  await show(worker, approvedText(before, worker), options, invoked)
}

async function repin(idOrName: string, options: TrustOptions, invoked: Invocation): Promise<void> {
  const { shell } = invoked
  const { client } = await invoked.connect()
  const { id } = await findWorker(client, idOrName, shell.signal)
  const body = { ...bodyOf(options), fingerprint: options.fingerprint ?? '' }
  const worker = await client.call('repinWorker', { params: { id }, body, signal: shell.signal })
  const text = `LCM trusts the CML of ${printable(worker.name)} (${id}) only with the certificate ${worker.cml.certificate_sha256}`
  await show(worker, text, options, invoked)
}

function approvedText(before: Worker, worker: Worker): string {
  const called = `${printable(worker.name)} (${worker.id})`
  if (before.approval.state === worker.approval.state) return `${called} needs no approval`
  const { certificate_sha256: pin } = worker.cml
  if (pin === null) return `${called} is approved. LCM pins the certificate that its CML shows next`
  return `${called} is approved. LCM trusts its CML only with the certificate ${pin}`
}

async function show(
  worker: Worker,
  text: string,
  { output: format }: TrustOptions,
  { shell, output }: Invocation,
): Promise<void> {
  if (format !== undefined) return printOne(WORKER_VIEW, worker, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(text)
}
