import { type Client, isProblem } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { LicensePoolView } from '@lcm/contract/license/license-pool'
import { type AffectedSessions, affectedSessions } from '@lcm/domain/fleet/affected-sessions'
import type { FleetWarning } from '@lcm/domain/fleet/fleet-warning'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { countText, namesText } from '@lcm/domain/text/format-amounts'
import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import type { DefinitionSummary } from '../cli/definition/definition-view.ts'
import { shellWord } from '../cli/terminal/shell-word.ts'
import { isLost } from '../cli/worker/lost-workers.ts'
import { type Finding, failure, firstOf, ok, warning } from './finding.ts'

/** Workers, sessions, definitions, leaks and license pools to check. */
export interface FleetFacts {
  /** Includes lost workers. */
  readonly workers: readonly Worker[]
  readonly sessions: readonly LabletSession[]
  readonly definitions: readonly DefinitionSummary[]
  readonly leaks: readonly LicenseLeak[]
  readonly pools: readonly LicensePoolView[]
  readonly warnings: readonly FleetWarning[]
}

/** Reads the fleet; what the caller may not see stays empty. */
export async function readFleet(client: Client, workers: readonly Worker[], signal: AbortSignal): Promise<FleetFacts> {
  const [sessions, definitions, leaks, pools, warnings] = await Promise.all([
    readList(query => client.call('listSessions', { query, signal })),
    readList(query => client.call('listDefinitions', { query, signal })),
    ifAllowed(readList(query => client.call('listLicenseLeaks', { query, signal }))),
    ifAllowed(readList(query => client.call('listLicensePools', { query, signal }))),
    ifAllowed(client.call('getFleetWarnings', { signal })),
  ])
  return { workers, sessions: sessions.items, definitions: definitions.items, leaks, pools, warnings }
}

async function ifAllowed<T>(list: Promise<{ readonly items: readonly T[] }>): Promise<readonly T[]> {
  try {
    return (await list).items
  } catch (error) {
    if (isProblem(error, 'forbidden')) return []
    throw error
  }
}

/** Resources that need attention: people who are affected first. FAILED workers are reported by the CML check. */
export function judgeFleet({ workers, sessions, definitions, leaks, pools, warnings }: FleetFacts): readonly Finding[] {
  const found = [
    ...firstOf(affectedSessions(sessions).map(ofGroup), 'list them with `lcm get sessions`'),
    ...warnings.map(each => warning('fleet', each.reason.message, each.fix.message)),
    ...firstOf(workers.flatMap(ofWorker), 'list them with `lcm get workers`'),
    ...firstOf(sessions.flatMap(ofSession), 'list them with `lcm get sessions`'),
    ...firstOf(definitions.flatMap(ofDefinition), 'list them with `lcm get definitions`'),
    ...firstOf(leaks.flatMap(ofLeak), 'list them with `lcm get leaks`'),
    ...firstOf(pools.flatMap(ofPool), 'list them with `lcm get licenses`'),
  ]
  return found.length > 0 ? found : [ok('fleet', 'no worker, session, definition or license needs attention')]
}

const attend = (message: string, next: string): Finding[] => [warning('fleet', message, next)]

/** Conditions that block a worker until someone acts, most specific first. */
const STUCK: readonly string[] = [
  CONDITION.blocked,
  CONDITION.stopBlocked,
  CONDITION.terminateBlocked,
  CONDITION.overdue,
  CONDITION.notOurs,
]

function ofWorker(worker: Worker): Finding[] {
  const { id, name, status, conditions, license } = worker
  const next = `see \`lcm why worker ${shellWord(name)}\``
  const because = worker.state_history.at(-1)?.because.message ?? 'no reason is recorded'
  if (isLost(worker))
    return attend(
      `${name} is lost: ${because}`,
      `see \`lcm why worker ${id}\`, or delete its record with \`lcm delete worker ${id}\``,
    )
  if (status === 'TERMINATED' || status === 'FAILED') return []
  if (awaitsApproval(worker))
    return attend(
      `${name} needs an approval: LCM did not launch its machine, and sends it no password, license or session`,
      `run \`lcm approve worker ${shellWord(name)}\` if you know who launched ${worker.ec2_instance_id ?? 'it'}; ${next}`,
    )
  const [stuck] = STUCK.flatMap(type => conditions.filter(each => each.type === type && each.status))
  if (stuck !== undefined) return attend(`${name} is ${status} and blocked: ${stuck.reason.message}`, next)
  if (status === 'UNKNOWN') return attend(`${name} is UNKNOWN: ${because}`, next)
  if (license.status === 'FAILED')
    return attend(`${name} has no license: ${license.last_error ?? 'CML rejected it'}`, next)
  const ignored = conditions.find(each => each.type === CONDITION.endpointIgnored && each.status)
  if (ignored !== undefined)
    return attend(
      `${name}: ${ignored.reason.message}`,
      `find out who tagged ${worker.ec2_instance_id}: the tag would have sent its CML password to another address`,
    )
  return []
}

/** Owners that a finding names. */
const NAMED_MAX = 3

/** People who can't use their labs, grouped by cause. */
function ofGroup({ health, headline, fix, sessions }: AffectedSessions): Finding {
  const owners = [...new Set(sessions.map(({ session }) => session.owner_name || session.owner))]
  const id = sessions[0]?.session.id ?? ''
  const advice = fix?.message ?? `LCM is working on it; see \`lcm why session ${id}\``
  return (health === 'DOWN' ? failure : warning)(
    'fleet',
    `${headline.message} (${namesText(owners, NAMED_MAX)})`,
    advice,
  )
}

/** Sessions whose owners notice nothing yet. */
function ofSession({ id, status, health, definition, pipeline }: LabletSession): Finding[] {
  if (isFinal(status) || health.status !== 'OK') return []
  const failed = Object.entries(pipeline?.steps ?? {}).find(([, step]) => isStuck(step.status))
  if (failed === undefined) return []
  const [step, { error }] = failed
  const message = `session ${id} of ${definition.name} is stuck at step ${step}: ${error ?? 'no reason is recorded'}`
  return attend(message, `see \`lcm why session ${id}\``)
}

const isStuck = (status: string): boolean => status === 'failed' || status === 'blocked'

function ofDefinition({ name, status, sync }: DefinitionSummary): Finding[] {
  if (status === 'DEPRECATED' || sync.status !== 'failed') return []
  const next = `fix its source and run \`lcm sync definition ${name}\`; see \`lcm describe definition ${name}\``
  return attend(`definition ${name} could not be fetched: ${sync.error ?? 'no reason is recorded'}`, next)
}

function ofLeak({ id, worker_name, reason, hostname, udi, resolved_at }: LicenseLeak): Finding[] {
  if (resolved_at !== null) return []
  const which = hostname ?? udi
  const message = `the license of ${worker_name}${which === null ? '' : ` (${which})`} leaked: ${reason.message}`
  return attend(message, `remove the instance in Cisco Smart Software Manager, then run \`lcm resolve leak ${id}\``)
}

function ofPool({ product, seats, free, leaked, waiting }: LicensePoolView): Finding[] {
  if (free > 0) return []
  const names = waiting.map(({ worker_name }) => worker_name)
  const who =
    names.length === 0 ? 'LCM buys no more machines of it' : `${namesText(names, NAMED_MAX)} run 5 nodes at most`
  const leaks = leaked === 0 ? '' : `, ${leaked} of them by leaks`
  const advice = `add seats with \`lcm edit license-pool ${product} --seats N\``
  return attend(
    `the license pool ${product} has no free seat (${countText(seats, 'seat')} in use${leaks}): ${who}`,
    leaked === 0 ? `${advice}, or stop a worker` : `resolve the leaks (\`lcm get leaks\`), or ${advice}`,
  )
}
