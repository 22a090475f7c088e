import type { AnswerOf } from '@lcm/contract/routes'
import { SERVICES } from '@lcm/domain/actor'
import { toMs } from '@lcm/domain/instant'
import { formatDuration } from '../duration.ts'
import { type Finding, failure, failureIn, ok, warning } from './finding.ts'

type Listed = AnswerOf<'listServices'>['items'][number]
type Instance = Listed['instances'][number]

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')
/** Everything is looked at far more often than that, even where nothing happens. */
const SWEEP_MS_MAX = 10 * 60_000

/** `nowMs` by the clock of the API. */
export const judgeServices = (services: readonly Listed[], nowMs: number): Finding[] =>
  CONTROLLERS.flatMap(name =>
    judgeService(
      name,
      services.find(({ service }) => service === name),
      nowMs,
    ),
  )

function judgeService(name: string, listed: Listed | undefined, nowMs: number): Finding[] {
  const instances = listed?.instances ?? []
  const leading = instances.find(({ is_leader }) => is_leader)
  const problems = instances.flatMap(instance => problemsOf(name, instance))
  if (leading === undefined) return [leaderless(name, instances.length), ...problems]
  const troubles = [...watchOf(name, leading), ...sweepOf(name, leading, nowMs), ...problems]
  if (troubles.length > 0) return troubles
  const others = instances.length - 1
  const standby = others === 0 ? '' : ` with ${others} standing by`
  return [ok('services', `${leading.instance_id} leads the ${name}${standby}`)]
}

function leaderless(name: string, count: number): Finding {
  if (count === 0) {
    const next = `start it with \`lcm serve ${name}\`, and check CONTROL_PLANE_API_URL and LCM_SERVICE_TOKEN of those that run`
    return failure('services', `no instance of the ${name} has been heard of for half a minute`, next)
  }
  const sentence = `nobody leads the ${name}, though ${count === 1 ? 'one instance lives' : `${count} instances live`}`
  return failure('services', sentence, 'they find a leader through etcd: check that first, then their logs')
}

function watchOf(name: string, { watch, instance_id }: Instance): Finding[] {
  if (watch.healthy) return []
  const age = watch.age_seconds === null ? '' : `, silent for ${formatDuration(watch.age_seconds * 1000)}`
  const sentence = `the ${name} on ${instance_id} does not hear of changes${age}; it looks at everything in turns instead`
  return [warning('services', sentence, 'check etcd and the way to it')]
}

function sweepOf(name: string, { last_sweep, since, instance_id }: Instance, nowMs: number): Finding[] {
  const from = last_sweep ?? since
  const ageMs = from === null ? 0 : nowMs - toMs(from)
  if (ageMs < SWEEP_MS_MAX) return []
  const sentence = `the ${name} on ${instance_id} has not looked at everything for ${formatDuration(ageMs)}`
  return [warning('services', sentence, 'see its log; RECONCILE_POLLING_ENABLED=false would explain it')]
}

const REFUSED = /^AWS refuses /

/** What it says of itself. What AWS refuses needs a person, whoever tells it. */
const problemsOf = (name: string, { problems, is_leader, instance_id }: Instance): Finding[] =>
  problems.map(problem => {
    const sentence = `${name} on ${instance_id}: ${problem}`
    if (REFUSED.test(problem)) return failure('services', sentence, nextFor(problem))
    if (!is_leader) return warning('services', sentence, 'see its log')
    return failureIn('services', sentence, 'see its log')
  })

const nextFor = (problem: string): string =>
  /Limit|quota/i.test(problem)
    ? 'ask AWS for a higher quota (Service Quotas, EC2), or use fewer or smaller machines'
    : 'grant what is refused: docs/how-to/run-on-aws.md has the policy'
