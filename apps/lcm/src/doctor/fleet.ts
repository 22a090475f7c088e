import { isProblem } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { isFinal, LAB_STOPPED, type LabletSession } from '@lcm/domain/session/lablet-session'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import type { DefinitionSummary } from '../cli/definition/definition-view.ts'
import { shellWord } from '../cli/terminal/shell-word.ts'
import { isLost } from '../cli/worker/lost-workers.ts'
import { type Finding, firstOf, ok, warning } from './finding.ts'

/** What people run on LCM. */
export interface FleetFacts {
  /** With those that are lost. */
  readonly workers: readonly Worker[]
  readonly sessions: readonly LabletSession[]
  readonly definitions: readonly DefinitionSummary[]
  readonly leaks: readonly LicenseLeak[]
}

/** Whoever may not see the leaks is still told the rest. */
export async function readFleet(client: Client, workers: readonly Worker[], signal: AbortSignal): Promise<FleetFacts> {
  const [sessions, definitions, leaks] = await Promise.all([
    readList(query => client.call('listSessions', { query, signal })),
    readList(query => client.call('listDefinitions', { query, signal })),
    readList(query => client.call('listLicenseLeaks', { query, signal })).catch((error: unknown) => {
      if (isProblem(error, 'forbidden')) return { items: [] }
      throw error
    }),
  ])
  return { workers, sessions: sessions.items, definitions: definitions.items, leaks: leaks.items }
}

/** What needs somebody although LCM itself works. Workers that are FAILED are told with their CML. */
export function judgeFleet({ workers, sessions, definitions, leaks }: FleetFacts): readonly Finding[] {
  const found = [
    ...firstOf(workers.flatMap(ofWorker), '`lcm get workers` shows them all'),
    ...firstOf(sessions.flatMap(ofSession), '`lcm get sessions` shows them all'),
    ...firstOf(definitions.flatMap(ofDefinition), '`lcm get definitions` shows them all'),
    ...firstOf(leaks.flatMap(ofLeak), '`lcm get leaks` shows them all'),
  ]
  return found.length > 0 ? found : [ok('fleet', 'no worker, session, definition or licence waits for a person')]
}

const attend = (sentence: string, next: string): Finding[] => [warning('fleet', sentence.replace(/[\s.]+$/, ''), next)]

/** Under these it does not go on by itself, in the order in which they tell most. */
const STUCK: readonly string[] = [
  CONDITION.blocked,
  CONDITION.stopBlocked,
  CONDITION.terminateBlocked,
  CONDITION.overdue,
  CONDITION.notOurs,
]

function ofWorker(worker: Worker): Finding[] {
  const { id, name, status, conditions, license } = worker
  const next = `\`lcm why worker ${shellWord(name)}\` says more`
  const because = worker.state_history.at(-1)?.because ?? 'no reason is recorded'
  if (isLost(worker))
    return attend(
      `${name} is lost: ${because}`,
      `\`lcm why worker ${id}\` says more, \`lcm delete worker ${id}\` forgets it`,
    )
  if (status === 'TERMINATED' || status === 'FAILED') return []
  const [stuck] = STUCK.flatMap(type => conditions.filter(each => each.type === type && each.status))
  if (stuck !== undefined) return attend(`${name} is ${status} and does not go on: ${stuck.message}`, next)
  if (status === 'UNKNOWN') return attend(`${name} is out of sight: ${because}`, next)
  if (license.status === 'FAILED')
    return attend(`${name} has no licence: ${license.last_error ?? 'CML refused it'}`, next)
  const ignored = conditions.find(each => each.type === CONDITION.endpointIgnored && each.status)
  if (ignored !== undefined)
    return attend(
      `${name}: ${ignored.message}`,
      `find out who tagged ${worker.ec2_instance_id}: the tag would have sent its CML password elsewhere`,
    )
  return []
}

function ofSession(session: LabletSession): Finding[] {
  const { id, status, definition, waiting_reason, pipeline, conditions } = session
  if (isFinal(status)) return []
  const next = `\`lcm why session ${id}\` says more`
  const name = `session ${id} of ${definition.name}`
  if (status === 'PENDING' && waiting_reason !== null) return attend(`${name} has no place: ${waiting_reason}`, next)
  const failed = Object.entries(pipeline?.steps ?? {}).find(([, step]) => isHeldUp(step.status))
  if (failed !== undefined) {
    const [step, { error }] = failed
    return attend(`${name} is held up at the step ${step}: ${error ?? 'no reason is recorded'}`, next)
  }
  const stopped = conditions.find(({ type, status: isSo }) => type === LAB_STOPPED && isSo)
  return stopped === undefined ? [] : attend(`the lab of ${name} is stopped: ${stopped.message}`, next)
}

const isHeldUp = (status: string): boolean => status === 'failed' || status === 'blocked'

function ofDefinition({ name, status, sync }: DefinitionSummary): Finding[] {
  if (status === 'DEPRECATED' || sync.status !== 'failed') return []
  const next = `mend its source, then \`lcm sync definition ${name}\`; \`lcm describe definition ${name}\` says more`
  return attend(`definition ${name} could not be fetched: ${sync.error ?? 'no reason is recorded'}`, next)
}

function ofLeak({ id, worker_name, reason, hostname, udi, resolved_at }: LicenseLeak): Finding[] {
  if (resolved_at !== null) return []
  const which = hostname ?? udi
  const sentence = `the licence of ${worker_name}${which === null ? '' : ` (${which})`} went down with it: ${reason}`
  return attend(sentence, `free it at Cisco, then \`lcm resolve leak ${id}\`; \`lcm get leaks\` shows it`)
}
