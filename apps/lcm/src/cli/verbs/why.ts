import { type Client, unlessMissing } from '@lcm/client/client'
import { isLearner } from '@lcm/contract/route-spec'
import { toMs } from '@lcm/domain/instant'
import type { ServiceState } from '@lcm/domain/next-step'
import type { PlannedAction } from '@lcm/domain/service-instance'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { nextOfSession } from '@lcm/domain/session/session-next-step'
import type { Worker } from '@lcm/domain/worker/worker'
import { nextOfWorker } from '@lcm/domain/worker/worker-next-step'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { newestShown, type Reader, readingFor } from '../decision-text.ts'
import { findSession, findWorker } from '../find-resource.ts'
import { invocation } from '../invocation.ts'
import { wholeNumber } from '../option-parsers.ts'
import { readMachinePlan, workerPlanLines } from '../plan/machine-plan-view.ts'
import { newestSave } from '../save/save-kind.ts'
import { explainSession } from '../session/session-explanation.ts'
import { toJson } from '../terminal/data-text.ts'
import type { Colors } from '../terminal/output.ts'
import { explainWorker } from '../worker/worker-explanation.ts'

const DECISIONS = 20
const DECISIONS_MAX = 100

interface WhyOptions {
  readonly limit: number
  readonly json?: boolean
  readonly verbose?: boolean
}

interface Explanation {
  /** Data for --json. */
  readonly data: object
  lines(reader: Reader, colors: Colors): string[]
}

interface Question {
  readonly client: Client
  readonly idOrName: string
  readonly limit: number
  /** Whether repeated decisions are included, as in --json. */
  readonly isVerbose: boolean
  readonly signal: AbortSignal
}

type Explain = (question: Question) => Promise<Explanation>

export function defineWhy(why: Command, shell: Shell): void {
  addNoun(why, 'worker', whyWorker, shell)
  addNoun(why, 'session', whySession, shell)
  why.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm why worker metal-3
  lcm why worker metal-3 -n 50
  lcm why session ls-0n4k2m7a8q1cd     why it has no worker or no lab yet`

function addNoun(why: Command, noun: string, explain: Explain, shell: Shell): void {
  why
    .command(`${noun} <id>`)
    .alias(`${noun}s`)
    .description(`Explain the status of a ${noun}, what happens next and what you can do`)
    .option('-n, --limit <count>', 'Maximum number of decisions', wholeNumber(1, DECISIONS_MAX), DECISIONS)
    .option('-v, --verbose', 'Show all guards and complete texts')
    .option('--json', 'Print the API response as JSON')
    .action(
      async (idOrName: string, { limit, json = false, verbose: isVerbose = false }: WhyOptions, command: Command) => {
        const { output, connect } = invocation(command, shell)
        const { client } = await connect()
        const { data, lines } = await explain({
          client,
          idOrName,
          limit,
          isVerbose: isVerbose || json,
          signal: shell.signal,
        })
        if (json) output.out(toJson(data, 2))
        else lines({ nowMs: shell.clock.now(), isVerbose }, output.colors).forEach(output.out)
      },
    )
}

/** Minimum number of decisions to read; older ones tell since when a state lasts. */
const READ_MIN = 50
const countFor = ({ limit, isVerbose }: Question): number => Math.max(READ_MIN, readingFor(limit, isVerbose))

const whyWorker: Explain = async question => {
  const { client, idOrName, limit, isVerbose, signal } = question
  const worker = await findWorker(client, idOrName, signal)
  const [{ items }, fleet, { actor }] = await Promise.all([
    client.call('getWorkerDecisions', { params: { id: worker.id }, query: { limit: countFor(question) }, signal }),
    readFleetState(client, signal),
    client.call('info', { signal }),
  ])
  const calendar = await readMachinePlan(client, actor, signal)
  const plan = fleet.planOf('worker-controller', `worker:${worker.id}`)
  const controller = fleet.services.find(({ service }) => service === 'worker-controller') ?? null
  const next = nextOfWorker({ worker, decisions: items, plan, controller, nowMs: fleet.nowMs })
  const planned = workerPlanLines(calendar, worker.id, fleet.nowMs)
  const data = { worker, decisions: newestShown(items, limit, isVerbose), plan, next, planned }
  return { data, lines: (reader, colors) => explainWorker(data, reader, colors) }
}

const whySession: Explain = async question => {
  const { client, idOrName, limit, isVerbose, signal } = question
  const session = await findSession(client, idOrName, signal)
  const [{ items }, fleet, worker, minutesLeft, save, { actor }] = await Promise.all([
    client.call('getSessionDecisions', { params: { id: session.id }, query: { limit: countFor(question) }, signal }),
    readFleetState(client, signal),
    workerOf(client, session, signal),
    minutesLeftOf(client, session, signal),
    newestSave(client, session, signal),
    client.call('info', { signal }),
  ])
  const by = session.status === 'PENDING' ? 'resource-scheduler' : 'lablet-controller'
  const plan = fleet.planOf(by, `session:${session.id}`)
  const { services, nowMs } = fleet
  const next = nextOfSession({ session, worker, decisions: items, plan, services, nowMs })
  const isForLearner = isLearner(actor)
  const data = { session, decisions: newestShown(items, limit, isVerbose), plan, next }
  return {
    data,
    lines: (reader, colors) => explainSession({ ...data, minutesLeft, save, isForLearner }, reader, colors),
  }
}

async function workerOf(client: Client, { worker_id }: LabletSession, signal: AbortSignal): Promise<Worker | null> {
  return worker_id === null ? null : unlessMissing(client.call('getWorker', { params: { id: worker_id }, signal }))
}

interface FleetState {
  readonly services: readonly ServiceState[]
  /** Current time by the clock of the API, which also wrote all timestamps. */
  readonly nowMs: number
  planOf(service: string, resource: string): PlannedAction | null
}

async function readFleetState(client: Client, signal: AbortSignal): Promise<FleetState> {
  const [plan, services] = await Promise.all([
    client.call('getFleetPlan', { signal }),
    client.call('listServices', { signal }),
  ])
  return {
    services: services.items,
    nowMs: toMs(plan.at),
    planOf: (by, resource) => plan.items.find(item => item.service === by && item.resource === resource) ?? null,
  }
}

const MINUTE_MS = 60_000

/** Minutes by which the session can be extended; 0 if its definition was deleted. */
async function minutesLeftOf(client: Client, session: LabletSession, signal: AbortSignal): Promise<number> {
  const { definition, timeslot } = session
  const found = await unlessMissing(client.call('getDefinition', { params: { id: definition.id }, signal }))
  const lengthMs = toMs(timeslot.end) - toMs(timeslot.start)
  return Math.max(0, Math.floor((found?.max_duration_minutes ?? 0) - lengthMs / MINUTE_MS))
}
