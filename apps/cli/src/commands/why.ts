import { isProblem, unlessMissing } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Command } from 'commander'
import { newestShown, type Reader, readingFor } from '../explanation.ts'
import { findWorker } from '../find.ts'
import { invocation, wholeNumber } from '../invocation.ts'
import { findSession } from '../lablets/find.ts'
import { explainSession } from '../lablets/session-explanation.ts'
import type { Colors } from '../output.ts'
import type { Shell } from '../shell.ts'
import { explainWorker } from '../worker-explanation.ts'

const DECISIONS = 20
const DECISIONS_MAX = 100

interface WhyOptions {
  readonly limit: number
  readonly json?: boolean
  readonly verbose?: boolean
}

interface Explanation {
  /** As the API tells it. */
  readonly told: object
  lines(reader: Reader, colors: Colors): string[]
}

interface Question {
  readonly client: Client
  readonly idOrName: string
  readonly limit: number
  /** Whether every decision is told, as it is to programs. */
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
  lcm why session ls-0n4k2m7a8q1cd     why it has no place yet, or no lab`

function addNoun(why: Command, noun: string, explain: Explain, shell: Shell): void {
  why
    .command(`${noun} <id>`)
    .alias(`${noun}s`)
    .description(`why a ${noun} is where it is, what happens next and what you can do`)
    .option('-n, --limit <count>', 'how many decisions to show', wholeNumber(1, DECISIONS_MAX), DECISIONS)
    .option('-v, --verbose', "every guard of a decision, also those that stood in nobody's way, and no text cut short")
    .option('--json', 'as the API tells it, for programs')
    .action(
      async (idOrName: string, { limit, json = false, verbose: isVerbose = false }: WhyOptions, command: Command) => {
        const { output, connect } = invocation(command, shell)
        const { client } = await connect()
        const { told, lines } = await explain({
          client,
          idOrName,
          limit,
          isVerbose: isVerbose || json,
          signal: shell.signal,
        })
        if (json) output.out(JSON.stringify(told, null, 2))
        else lines({ nowMs: shell.clock.now(), isVerbose }, output.colors).forEach(output.out)
      },
    )
}

const whyWorker: Explain = async ({ client, idOrName, limit, isVerbose, signal }) => {
  const worker = await findWorker(client, idOrName, signal)
  const call = { params: { id: worker.id }, query: { limit: readingFor(limit, isVerbose) }, signal }
  const decisions = newestShown((await client.call('getWorkerDecisions', call)).items, limit, isVerbose)
  const told = { worker, decisions, plan: await planOf(client, `worker:${worker.id}`, signal) }
  return { told, lines: (reader, colors) => explainWorker(told, reader, colors) }
}

const whySession: Explain = async ({ client, idOrName, limit, isVerbose, signal }) => {
  const session = await findSession(client, idOrName, signal)
  const call = { params: { id: session.id }, query: { limit: readingFor(limit, isVerbose) }, signal }
  const decisions = newestShown((await client.call('getSessionDecisions', call)).items, limit, isVerbose)
  const told = { session, decisions, plan: await planOf(client, `session:${session.id}`, signal) }
  const minutesLeft = await minutesLeftOf(client, session, signal)
  return { told, lines: (reader, colors) => explainSession({ ...told, minutesLeft }, reader, colors) }
}

const MINUTE_MS = 60_000

/** None where its definition is gone: then nobody could extend it. */
async function minutesLeftOf(client: Client, session: LabletSession, signal: AbortSignal): Promise<number> {
  const { definition, timeslot } = session
  const found = await unlessMissing(client.call('getDefinition', { params: { id: definition.id }, signal }))
  const lengthMs = toMs(timeslot.end) - toMs(timeslot.start)
  return Math.max(0, Math.floor((found?.max_duration_minutes ?? 0) - lengthMs / MINUTE_MS))
}

/** Whoever may not see the plan is still told the rest. */
async function planOf(client: Client, resource: string, signal: AbortSignal): Promise<PlannedAction | null> {
  try {
    const { items } = await client.call('getFleetPlan', { signal })
    return items.find(planned => planned.resource === resource) ?? null
  } catch (error) {
    if (isProblem(error, 'forbidden')) return null
    throw error
  }
}
