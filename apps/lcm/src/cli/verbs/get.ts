import type { Client } from '@lcm/client/client'
import type { Command } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { positionNow } from '../follow-events.ts'
import { type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import { DEFINITIONS, type Kind, LABS, LEAKS, SERVICES, SESSIONS, TEMPLATES, WORKERS } from '../kinds.ts'
import { printList, printOne, type Resource } from '../resource-view.ts'
import type { Shell } from '../shell.ts'
import { whileRead } from '../terminal/output.ts'
import { TOKENS } from '../token/token-kind.ts'
import { type Watchable, watchList } from '../watch-list.ts'
import { BY_ID, readWorkerNames, type WorkerNames } from '../worker/worker-names.ts'

interface GetOptions {
  readonly output: Format
  readonly watch?: boolean
  readonly all?: boolean
}

/** The part of a kind that these options ask for. */
const watchableOf = <T extends Resource>(
  kind: Kind<T>,
  client: Client,
  { all = false }: GetOptions,
  names: WorkerNames,
): Watchable<T> => ({
  view: kind.named?.(names) ?? kind.view,
  list: signal => kind.list(client, all, signal),
  changed(event) {
    names.learn(event)
    return kind.changed(event)
  },
  deleted: kind.deleted,
  everyMs: kind.everyMs,
  ...(kind.differs === undefined ? {} : { differs: kind.differs }),
  shows: item => all || !kind.isHidden(item),
})

export function defineGet(get: Command, shell: Shell): void {
  defineNoun(get, WORKERS, shell)
  defineNoun(get, TEMPLATES, shell)
  defineNoun(get, DEFINITIONS, shell)
  defineNoun(get, SESSIONS, shell)
  defineNoun(get, LABS, shell)
  defineNoun(get, SERVICES, shell)
  defineNoun(get, LEAKS, shell)
  defineNoun(get, TOKENS, shell)
  get.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm get workers                    all workers that live, and those that are lost
  lcm get workers --watch            the same, kept up to date until Ctrl-C
  lcm get worker metal-3 -o yaml     everything about one worker
  lcm get workers -o json | jq '.items[] | select(.status == "FAILED") | .name'
  lcm get templates                  what a worker can be made from
  lcm get definitions                which labs can be booked
  lcm get sessions --watch           who has which lab, live; your own unless you run the fleet
  lcm get labs --all                 labs on workers, also those that are DELETED
  lcm get services                   the controllers: who leads, and how they are
  lcm get leaks                      licences that went down with their machines
  lcm get tokens                     who may come in, without the secrets`

function defineNoun<T extends Resource>(get: Command, kind: Kind<T>, shell: Shell): void {
  const noun = get
    .command(`${kind.plural} [id]`)
    .alias(kind.singular)
    .description(`list ${kind.plural}, or show the one with this id or name`)
    .addOption(formatOption().default('table'))
    .option('-w, --watch', 'keep it up to date until Ctrl-C')
    .action(async (idOrName: string | undefined, options: GetOptions, command: Command) =>
      getThings(kind, idOrName, options, invocation(command, shell)),
    )
  if (kind.hidden !== null) noun.option('--all', `also those that are ${kind.hidden}`)
}

async function getThings<T extends Resource>(
  kind: Kind<T>,
  idOrName: string | undefined,
  options: GetOptions,
  { shell, output, connect }: Invocation,
): Promise<void> {
  const { client } = await connect()
  const { clock } = shell
  const signal = options.watch ? whileRead(shell.signal, output.stdout) : shell.signal
  const format = options.output
  const isNamed = kind.named !== undefined && format === 'table'
  const watchable = watchableOf(kind, client, options, isNamed ? await readWorkerNames(client, signal) : BY_ID)
  if (idOrName === undefined) {
    if (options.watch) return watchList(watchable, { client, clock, signal, output, format })
    const { items } = await watchable.list(signal)
    if (items.length === 0 && format === 'table' && (await areAllHidden(kind, client, signal, options)))
      return output.note(
        `there are no ${kind.plural} but those that are ${kind.hidden}: \`lcm get ${kind.plural} --all\` shows them`,
      )
    return printList(watchable.view, items, { output, format, nowMs: clock.now() })
  }
  const item = await kind.find(client, idOrName, signal)
  if (options.watch) return watchList(onlyOne(watchable, kind, item, client), { client, clock, signal, output, format })
  return printOne(watchable.view, item, { output, format, nowMs: clock.now() })
}

/** Whether an empty list would not be empty with `--all`. */
async function areAllHidden<T extends Resource>(
  kind: Kind<T>,
  client: Client,
  signal: AbortSignal,
  { all = false }: GetOptions,
): Promise<boolean> {
  return !all && kind.hidden !== null && (await kind.list(client, true, signal)).items.length > 0
}

/** The same list, narrowed to one thing that was found before. */
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
      throw new CliError(EXIT.notFound, `${kind.singular} ${id} is gone: somebody removed its record`)
    },
    shows: () => true,
  }
}
