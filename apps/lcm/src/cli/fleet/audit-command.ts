import type { Client } from '@lcm/client/client'
import { type PageRequest, pagesOf } from '@lcm/client/list-pages'
import type { AuditEntry } from '@lcm/domain/journal-records'
import { type Command, Option } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption, wholeNumber } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { BY_ID, readWorkerNames } from '../worker/worker-names.ts'
import { auditLines, isBy } from './audit-view.ts'
import { type Since, sinceArgument } from './since-option.ts'

/** Maximum number of entries that are read and filtered by actor. */
const READ_MAX = 20_000
const SHOWN = 1_000

interface AuditOptions {
  readonly since?: Since
  readonly until?: Since
  readonly actor?: string
  readonly worker?: string
  readonly scaling?: boolean
  readonly limit: number
  readonly output: Format
}

export function defineAudit(audit: Command, shell: Shell): void {
  const moment = (flags: string, summary: string) => new Option(flags, summary).argParser(sinceArgument)
  audit
    .addOption(moment('--since <when>', 'Show entries after this time: an age such as 24h, or a date'))
    .addOption(moment('--until <when>', 'Show entries before this time: an age such as 1h, or a date'))
    .option('--actor <name>', 'Show only actions of this name, id or role')
    .option('--worker <id>', 'Show only actions on this worker')
    .option('--scaling', 'Include scale-up and scale-down decisions of policies')
    .option('-n, --limit <count>', 'Maximum number of entries', wholeNumber(1, READ_MAX), SHOWN)
    .addOption(formatOption().default('table'))
    .action(async (options: AuditOptions, command: Command) => showAudit(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm audit --since 24h                        actions of the last day, newest first
  lcm audit --actor ann --since 7d
  lcm audit --worker metal-3 -n 20
  lcm audit --since 1h -o json | jq '.items[].action'`

async function showAudit(options: AuditOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { client } = await connect()
  const { signal, clock } = shell
  const worker = options.worker === undefined ? null : await findWorker(client, options.worker, signal)
  const query = {
    from: options.since?.(clock.now()),
    to: options.until?.(clock.now()),
    resource: worker === null ? undefined : `worker:${worker.id}`,
    scaling: options.scaling ?? false,
  }
  const { entries, cut } = await readAudit(client, { query, signal, limit: options.limit, actor: options.actor })
  if (cut !== null) output.warn(cut)
  if (entries.length === 0 && options.output === 'table') return output.note(emptyText(options))
  const names = options.output === 'table' ? await readWorkerNames(client, signal) : BY_ID
  await printDocument(
    {
      data: { items: entries, is_cut: cut !== null },
      names: () => entries.map(({ id }) => id),
      lines: () => auditLines(entries, names),
    },
    options.output,
    output,
  )
}

const emptyText = ({ since, until, actor, worker }: AuditOptions): string =>
  [since, until, actor, worker].every(narrowing => narrowing === undefined)
    ? 'the audit log is empty'
    : 'no matching entries: use an earlier --since, or omit --actor, --worker and --until'

interface Reading {
  readonly query: {
    readonly from: string | undefined
    readonly to: string | undefined
    readonly resource: string | undefined
    readonly scaling: boolean
  }
  readonly signal: AbortSignal
  readonly limit: number
  readonly actor: string | undefined
}

interface Audit {
  readonly entries: AuditEntry[]
  /** Warning that entries were left out, with advice; null if the list is complete. */
  readonly cut: string | null
}

/** Reads all pages, up to `limit` matching entries or READ_MAX entries. */
async function readAudit(client: Client, { query, signal, limit, actor }: Reading): Promise<Audit> {
  const read = (page: PageRequest) => client.call('listAudit', { query: { ...page, ...query }, signal })
  const entries: AuditEntry[] = []
  let seen = 0
  for await (const page of pagesOf(read)) {
    seen += page.length
    entries.push(...page.filter(entry => actor === undefined || isBy(entry, actor)))
    if (entries.length > limit)
      return {
        entries: entries.slice(0, limit),
        cut: `showing only the newest ${limit} entries: raise --limit, or narrow the time with --since and --until`,
      }
    if (seen >= READ_MAX)
      return { entries, cut: `only the newest ${READ_MAX} entries were searched: use --until to search older ones` }
  }
  return { entries, cut: null }
}
