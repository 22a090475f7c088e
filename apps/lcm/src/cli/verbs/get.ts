import type { Client } from '@lcm/client/client'
import { isLearner } from '@lcm/contract/route-spec'
import { HEALTH_STATUSES, type HealthStatus } from '@lcm/domain/health'
import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { defineGetSettings } from '../fleet/get-settings.ts'
import { positionNow } from '../follow-events.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { LICENSE_POOLS } from '../license/license-pool-kind.ts'
import { NOTIFICATIONS, TARGETS } from '../notification/notification-kinds.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { PEOPLE } from '../person/person-kind.ts'
import { QUOTAS } from '../quota/quota-kind.ts'
import { DEFINITIONS, type Kind, LABS, LEAKS, SERVICES, SESSIONS, TEMPLATES, WORKERS } from '../resource-kinds.ts'
import { printList, printOne, type Resource } from '../resource-view.ts'
import { SAVES, savesOf } from '../save/save-kind.ts'
import type { SessionReader } from '../session/session-view.ts'
import { whileRead } from '../terminal/output.ts'
import { TIMINGS } from '../timing/timing-kind.ts'
import { TOKENS } from '../token/token-kind.ts'
import { type Watchable, watchList } from '../watch-list.ts'
import { readWorkerNames } from '../worker/worker-names.ts'

interface GetOptions {
  readonly output: Format
  readonly watch?: boolean
  readonly all?: boolean
  /** Only saves have it. */
  readonly session?: string
  readonly health?: HealthStatus
}

/** Applies the options of `get` to a kind. */
const watchableOf = <T extends Resource>(
  kind: Kind<T>,
  client: Client,
  { all = false, health }: GetOptions,
  reader: SessionReader | null,
): Watchable<T> => {
  const isWanted = (item: T) => health === undefined || kind.healthOf?.(item) === health
  return {
    view: (reader && kind.viewFor?.(reader)) ?? kind.view,
    async list(signal) {
      const { items, revision } = await kind.list(client, all, signal)
      return { items: items.filter(isWanted), revision }
    },
    changed(event) {
      reader?.names.learn(event)
      return kind.changed(event)
    },
    deleted: kind.deleted,
    everyMs: kind.everyMs,
    ...(kind.differs === undefined ? {} : { differs: kind.differs }),
    shows: item => isWanted(item) && (all || !kind.isHidden(item)),
  }
}

export function defineGet(get: Command, shell: Shell): void {
  defineNoun(get, WORKERS, shell)
  defineNoun(get, TEMPLATES, shell)
  defineNoun(get, DEFINITIONS, shell)
  defineNoun(get, SESSIONS, shell)
  defineNoun(get, LABS, shell)
  defineNoun(get, SAVES, shell, ({ session }) => savesOf(session)).option(
    '--session <id>',
    'Only saves of this session',
  )
  defineNoun(get, SERVICES, shell)
  defineNoun(get, LICENSE_POOLS, shell)
  defineNoun(get, LEAKS, shell)
  defineNoun(get, PEOPLE, shell)
  defineNoun(get, QUOTAS, shell)
  defineNoun(get, TOKENS, shell)
  defineNoun(get, TIMINGS, shell)
  defineNoun(get, TARGETS, shell)
  defineNoun(get, NOTIFICATIONS, shell)
  defineGetSettings(get, shell)
  get.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm get workers                    all workers, without TERMINATED ones unless they were lost
  lcm get workers --watch            keep the list up to date until Ctrl-C
  lcm get worker metal-3 -o yaml     all fields of one worker
  lcm get workers -o json | jq '.items[] | select(.status == "FAILED") | .name'
  lcm get templates                  templates for new workers
  lcm get definitions                labs that can be booked
  lcm get sessions --health DOWN     sessions that their owners can't use
  lcm get sessions --watch           your sessions, or all sessions for operators and admins
  lcm get labs --all                 labs on workers, including DELETED ones
  lcm get saves --session ID         saved work that you can download or continue with
  lcm get services                   controllers with their leaders and health
  lcm get licenses                   license pools with their seats
  lcm get leaks                      licenses that were not deregistered before their machines were terminated
  lcm get people                     who may use this LCM, with roles and groups
  lcm get quotas                     how much you may book, or everyone for operators and admins
  lcm get tokens                     API tokens, without secrets
  lcm get timings                    how long machines, labs and teardowns take
  lcm get targets                    where notifications are sent, and whether that works
  lcm get notifications              messages that are queued or were given up
  lcm get settings                   settings with their values and sources`

function defineNoun<T extends Resource>(
  get: Command,
  kind: Kind<T>,
  shell: Shell,
  narrowed: (options: GetOptions) => Kind<T> = () => kind,
): Command {
  const noun = get
    .command(`${kind.plural} [id]`)
    .alias(kind.singular)
    .description(`List ${kind.plural}, or show one by id or name`)
    .addOption(formatOption().default('table'))
    .option('-w, --watch', 'Keep the output up to date until Ctrl-C')
    .action(async (idOrName: string | undefined, options: GetOptions, command: Command) =>
      getResources(narrowed(options), idOrName, options, invocation(command, shell)),
    )
  if (kind.healthOf !== undefined)
    noun.addOption(new Option('--health <health>', `Only ${kind.plural} with this health`).choices(HEALTH_STATUSES))
  if (kind.hidden !== null) noun.option('--all', `Include ${kind.plural} that are ${kind.hidden}`)
  return noun
}

async function getResources<T extends Resource>(
  kind: Kind<T>,
  idOrName: string | undefined,
  options: GetOptions,
  { shell, output, connect }: Invocation,
): Promise<void> {
  const { client } = await connect()
  const { clock } = shell
  const signal = options.watch ? whileRead(shell.signal, output.stdout) : shell.signal
  const format = options.output
  const reader = kind.viewFor === undefined || format !== 'table' ? null : await readerOf(client, signal)
  const watchable = watchableOf(kind, client, options, reader)
  if (idOrName === undefined) {
    if (options.watch) return watchList(watchable, { client, clock, signal, output, format })
    const { items } = await watchable.list(signal)
    if (items.length === 0 && format === 'table' && options.health !== undefined)
      return output.note(`no ${kind.plural} are ${options.health}`)
    if (items.length === 0 && format === 'table' && (await areAllHidden(kind, client, signal, options)))
      return output.note(`all ${kind.plural} are ${kind.hidden}: list them with \`lcm get ${kind.plural} --all\``)
    return printList(watchable.view, items, { output, format, nowMs: clock.now() })
  }
  const item = await kind.find(client, idOrName, signal)
  if (options.watch) return watchList(onlyOne(watchable, kind, item, client), { client, clock, signal, output, format })
  return printOne(watchable.view, item, { output, format, nowMs: clock.now() })
}

async function readerOf(client: Client, signal: AbortSignal): Promise<SessionReader> {
  const [names, { actor }] = await Promise.all([readWorkerNames(client, signal), client.call('info', { signal })])
  return { names, isLearner: isLearner(actor) }
}

/** Whether a list is empty only because `--all` was not given. */
async function areAllHidden<T extends Resource>(
  kind: Kind<T>,
  client: Client,
  signal: AbortSignal,
  { all = false }: GetOptions,
): Promise<boolean> {
  return !all && kind.hidden !== null && (await kind.list(client, true, signal)).items.length > 0
}

/** Narrows a list to one resource. */
function onlyOne<T extends Resource>(watchable: Watchable<T>, kind: Kind<T>, { id }: T, client: Client): Watchable<T> {
  return {
    ...watchable,
    async list(signal) {
      const revision = await positionNow(client, signal)
      return { items: [await kind.find(client, id, signal)], revision }
    },
    changed(event) {
      const item = watchable.changed(event)
      return item?.id === id ? item : null
    },
    deleted(event) {
      if (watchable.deleted(event) !== id) return null
      throw new CliError(EXIT.notFound, `${kind.singular} ${id} was deleted`)
    },
    shows: () => true,
  }
}
