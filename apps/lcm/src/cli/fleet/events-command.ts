import type { EventEnvelope } from '@lcm/contract/events'
import type { WorkerView } from '@lcm/contract/worker'
import { withHealth } from '@lcm/domain/health'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { actionWords } from '@lcm/domain/text/action-words'
import { countText } from '@lcm/domain/text/format-amounts'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { follow, positionNow } from '../follow-events.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { waitsFor as sessionWaitsFor, statusOf as statusOfSession } from '../session/session-view.ts'
import { toJson } from '../terminal/data-text.ts'
import { whileRead } from '../terminal/output.ts'
import { printable } from '../terminal/table.ts'
import { statusOf, waitsFor } from '../worker/worker-view.ts'

export function defineEvents(events: Command, shell: Shell): void {
  events
    .addOption(formatOption().default('table'))
    .action(async (options: { output: Format }, command: Command) =>
      showEvents(options.output, invocation(command, shell)),
    )
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm events                                     print one line per change until Ctrl-C
  lcm events -o json | jq -c 'select(.type == "worker.updated") | .data.status'`

async function showEvents(format: Format, { shell, output, connect }: Invocation): Promise<void> {
  const { client } = await connect()
  const { clock } = shell
  const signal = whileRead(shell.signal, output.stdout)
  const after = await positionNow(client, signal)
  let isBroken = false
  for await (const notice of follow({ client, clock, signal, after })) {
    if (notice.kind === 'broken' && !isBroken) output.note('event stream interrupted, reconnecting')
    if (notice.kind === 'event') output.out(await eventText(notice.event, format))
    if (notice.kind !== 'refresh') isBroken = notice.kind === 'broken'
  }
}

async function eventText(event: EventEnvelope, format: Format): Promise<string> {
  if (format === 'json') return toJson(event)
  if (format === 'name') return 'id' in event ? event.id : event.type
  if (format === 'table') return printable(eventLine(event)).trimEnd()
  const { stringify } = await import('yaml')
  return `---\n${stringify(event).trimEnd()}`
}

function eventLine(event: EventEnvelope): string {
  const head = `${event.at}  ${event.type.padEnd(18)}`
  switch (event.type) {
    case 'heartbeat':
      return head
    case 'reset':
      return `${head}  some events were lost: read the lists again`
    case 'worker.created':
    case 'worker.updated':
      return `${head}  ${workerText(event.data)}`
    case 'template.created':
    case 'template.updated':
      return `${head}  ${event.id}  ${event.data.name}`
    case 'settings.created':
    case 'settings.updated':
      return `${head}  version ${event.version}`
    case 'plan.created':
    case 'plan.updated':
      return `${head}  ${countText(event.data.machines, 'machine')}, ${countText(event.data.unplaced, 'session')} without one`
    case 'decision':
      return `${head}  ${event.data.resource}  ${actionWords(event.data.action)}: ${event.data.because.message}`
    case 'metrics.batch':
      return `${head}  ${event.data.length} ${event.data.length === 1 ? 'worker' : 'workers'}`
    case 'definition.created':
    case 'definition.updated':
      return `${head}  ${event.id}  ${event.data.name} ${event.data.definition_version}  ${event.data.status}`
    case 'session.created':
    case 'session.updated':
      return `${head}  ${sessionText(event.data)}`
    case 'save.created':
    case 'save.updated':
      return `${head}  ${event.id}  ${event.data.session_id}  save ${event.data.number}`
    case 'lab.created':
    case 'lab.updated':
      return `${head}  ${event.id}  ${event.data.title}  ${event.data.status}`
    case 'worker.deleted':
    case 'template.deleted':
    case 'definition.deleted':
    case 'session.deleted':
    case 'save.deleted':
    case 'lab.deleted':
      return `${head}  ${event.id}`
  }
}

const workerText = (worker: WorkerView): string =>
  [worker.id, worker.name, withHealth(statusOf(worker), worker.health.status), waitsFor(worker)].join('  ')

const sessionText = (session: LabletSession): string => {
  const status = withHealth(statusOfSession(session), session.health.status)
  return [session.id, session.definition.name, status, sessionWaitsFor(session)].join('  ')
}
