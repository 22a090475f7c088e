import { readList } from '@lcm/client/lists'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Command } from 'commander'
import type { Connection } from '../connection.ts'
import { CliError, EXIT } from '../exit-code.ts'
import { findTemplate, findWorker } from '../find.ts'
import { positionNow } from '../follow.ts'
import { type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import { printList, printOne, type Resource, TEMPLATE_VIEW, WORKER_VIEW } from '../resource-view.ts'
import type { Shell } from '../shell.ts'
import { type Watchable, watchList } from '../watch-list.ts'

interface GetOptions {
  readonly output: Format
  readonly watch?: boolean
  readonly all?: boolean
}

type Client = Connection['client']

/** A kind of things that `get` can show. */
interface Kind<T extends Resource> {
  readonly plural: string
  readonly singular: string
  find(client: Client, idOrName: string, signal: AbortSignal): Promise<T>
  watchable(client: Client, options: GetOptions): Watchable<T>
}

const WORKERS: Kind<Worker> = {
  plural: 'workers',
  singular: 'worker',
  find: findWorker,
  watchable: (client, { all = false }) => ({
    view: WORKER_VIEW,
    list: signal =>
      readList(page => client.call('listWorkers', { query: { ...page, include_terminated: all }, signal })),
    changed: event => (event.type === 'worker.created' || event.type === 'worker.updated' ? event.data : null),
    deleted: event => (event.type === 'worker.deleted' ? event.id : null),
    shows: worker => all || worker.status !== 'TERMINATED',
  }),
}

const TEMPLATES: Kind<WorkerTemplate> = {
  plural: 'templates',
  singular: 'template',
  find: findTemplate,
  watchable: client => ({
    view: TEMPLATE_VIEW,
    list: signal => readList(query => client.call('listTemplates', { query, signal })),
    changed: event => (event.type === 'template.created' || event.type === 'template.updated' ? event.data : null),
    deleted: event => (event.type === 'template.deleted' ? event.id : null),
    shows: () => true,
  }),
}

export function defineGet(get: Command, shell: Shell): void {
  defineNoun(get, WORKERS, shell).option('--all', 'also those that are TERMINATED')
  defineNoun(get, TEMPLATES, shell)
  get.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm get workers                    all workers but those that are TERMINATED
  lcm get workers --watch            the same, kept up to date until Ctrl-C
  lcm get worker metal-3 -o yaml     everything about one worker
  lcm get workers -o json | jq '.items[] | select(.status == "FAILED") | .name'
  lcm get templates                  what a worker can be made from`

function defineNoun<T extends Resource>(get: Command, kind: Kind<T>, shell: Shell): Command {
  return get
    .command(`${kind.plural} [id]`)
    .alias(kind.singular)
    .description(`list ${kind.plural}, or show the one with this id or name`)
    .addOption(formatOption().default('table'))
    .option('-w, --watch', 'keep it up to date until Ctrl-C')
    .action(async (idOrName: string | undefined, options: GetOptions, command: Command) =>
      getThings(kind, idOrName, options, invocation(command, shell)),
    )
}

async function getThings<T extends Resource>(
  kind: Kind<T>,
  idOrName: string | undefined,
  options: GetOptions,
  { shell, output, connect }: Invocation,
): Promise<void> {
  const { client } = await connect()
  const { clock, signal } = shell
  const format = options.output
  const watchable = kind.watchable(client, options)
  if (idOrName === undefined) {
    if (options.watch) return watchList(watchable, { client, clock, signal, output, format })
    const { items } = await watchable.list(signal)
    return printList(watchable.view, items, { output, format, nowMs: clock.now() })
  }
  const item = await kind.find(client, idOrName, signal)
  if (options.watch) return watchList(onlyOne(watchable, kind, item, client), { client, clock, signal, output, format })
  return printOne(watchable.view, item, { output, format, nowMs: clock.now() })
}

/** The same list, narrowed to one thing that was found before. */
function onlyOne<T extends Resource>(watchable: Watchable<T>, kind: Kind<T>, { id }: T, client: Client): Watchable<T> {
  return {
    view: watchable.view,
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
