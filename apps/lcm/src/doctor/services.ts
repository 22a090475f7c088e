import type { AnswerOf } from '@lcm/contract/routes'
import { SERVICES } from '@lcm/domain/actor'
import { toMs } from '@lcm/domain/instant'
import { formatDuration } from '../cli/terminal/duration.ts'
import { OUTAGE_NEXT } from './api.ts'
import { type Finding, failure, failureIn, ok, warning } from './finding.ts'

type Listed = AnswerOf<'listServices'>['items'][number]
type Instance = Listed['instances'][number]
type Profile = AnswerOf<'info'>['profile']

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')
/** Everything is looked at far more often than that, even where nothing happens. */
const SWEEP_MS_MAX = 10 * 60_000

/** `nowMs` by the clock of the API. */
export const judgeServices = (services: readonly Listed[], nowMs: number, profile: Profile): Finding[] =>
  CONTROLLERS.flatMap(name => {
    const listed = services.find(({ service }) => service === name)
    return judgeService(name, listed, nowMs, profile)
  })

function judgeService(name: string, listed: Listed | undefined, nowMs: number, profile: Profile): Finding[] {
  const instances = listed?.instances ?? []
  const leading = instances.find(({ is_leader }) => is_leader)
  const problems = instances.flatMap(instance => problemsOf(name, instance))
  if (leading === undefined) return [leaderless(name, instances.length, profile), ...problems]
  const troubles = [...watchOf(name, leading, profile), ...sweepOf(name, leading, nowMs), ...problems]
  if (troubles.length > 0) return troubles
  const others = instances.length - 1
  const standby = others === 0 ? '' : ` with ${others} standing by`
  return [ok('services', `${leading.instance_id} leads the ${name}${standby}`)]
}

/** There is neither an etcd nor a process of its own to look at. */
const EMBEDDED_NEXT =
  'it runs inside `lcm up`: repeat in a moment, and if that does not help see its log and start it anew'

function leaderless(name: string, count: number, profile: Profile): Finding {
  if (count === 0) {
    const own = `start it with \`lcm serve ${name}\`, and check CONTROL_PLANE_API_URL and LCM_SERVICE_TOKEN of those that run`
    return failure('services', `no instance of the ${name} has been heard of for half a minute`, nextIn(profile, own))
  }
  const sentence = `nobody leads the ${name}, though ${count === 1 ? 'one instance lives' : `${count} instances live`}`
  const next = nextIn(profile, 'they find a leader through etcd: check that first, then their logs')
  return failure('services', sentence, next)
}

const nextIn = (profile: Profile, own: string): string => (profile === 'embedded' ? EMBEDDED_NEXT : own)

function watchOf(name: string, { watch, instance_id }: Instance, profile: Profile): Finding[] {
  if (watch.healthy) return []
  const age = watch.age_seconds === null ? '' : `, silent for ${formatDuration(watch.age_seconds * 1000)}`
  const sentence = `the ${name} on ${instance_id} does not hear of changes${age}; it looks at everything in turns instead`
  return [warning('services', sentence, nextIn(profile, 'check etcd and the way to it'))]
}

function sweepOf(name: string, { last_sweep, since, instance_id }: Instance, nowMs: number): Finding[] {
  const from = last_sweep ?? since
  const ageMs = from === null ? 0 : nowMs - toMs(from)
  if (ageMs < SWEEP_MS_MAX) return []
  const sentence = `the ${name} on ${instance_id} has not looked at everything for ${formatDuration(ageMs)}`
  return [warning('services', sentence, 'see its log; RECONCILE_POLLING_ENABLED=false would explain it')]
}

const REFUSED = /^AWS refuses /
const OUTAGE = / has not answered since /

/** What it says of itself. What AWS refuses and what does not answer fails, whichever instance says it. */
const problemsOf = (name: string, { problems, is_leader, instance_id }: Instance): Finding[] =>
  problems.map(problem => {
    const sentence = `${name} on ${instance_id}: ${problem}`
    if (REFUSED.test(problem)) return failure('services', sentence, nextFor(problem))
    if (OUTAGE.test(problem)) return failure('services', sentence, OUTAGE_NEXT)
    if (!is_leader) return warning('services', sentence, 'see its log')
    return failureIn('services', sentence, 'see its log')
  })

const nextFor = (problem: string): string =>
  /Limit|quota/i.test(problem)
    ? 'ask AWS for a higher quota (Service Quotas, EC2), or use fewer or smaller machines'
    : 'grant what is refused: docs/how-to/run-on-aws.md has the policy'
