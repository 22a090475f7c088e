import type { Client } from '@lcm/client/client'
import type { AnswerOf } from '@lcm/contract/routes'
import { SERVICES } from '@lcm/domain/actor'
import { toMs } from '@lcm/domain/instant'
import type { Reason, ReasonCode } from '@lcm/domain/reason'
import type { Clock } from '@lcm/runtime/clock'
import { formatDuration } from '../cli/terminal/duration.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { OUTAGE_NEXT } from './judge-api.ts'
import { judgeCertificate } from './judge-certificate.ts'

type Listed = AnswerOf<'listServices'>['items'][number]
type Instance = Listed['instances'][number]
type Profile = AnswerOf<'info'>['profile']

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')
/** Sweeps are far more frequent than this, even in an idle fleet. */
const SWEEP_MS_MAX = 10 * 60_000

/** An election and its report take less than a second. */
const ELECTION_MS_MAX = 3_000
const ELECTION_CHECK_MS = 250

/** Services that just started have no leader for a moment, which is no failure: they are read again until they have one. */
export async function readServices(client: Client, clock: Clock, signal: AbortSignal): Promise<readonly Listed[]> {
  const untilMs = clock.monotonic() + ELECTION_MS_MAX
  for (;;) {
    const { items } = await client.call('listServices', { signal })
    if (items.every(hasLeader) || clock.monotonic() >= untilMs) return items
    await clock.sleep(ELECTION_CHECK_MS, signal)
  }
}

const hasLeader = ({ instances }: Listed): boolean => instances.some(({ is_leader }) => is_leader)

interface ServiceFacts {
  /** By the clock of the API. */
  readonly nowMs: number
  readonly profile: Profile
  /** Findings about single workers: a service that reports the same is not at fault. */
  readonly workers: readonly Finding[]
}

export const judgeServices = (services: readonly Listed[], facts: ServiceFacts): Finding[] =>
  CONTROLLERS.flatMap(name => {
    const listed = services.find(({ service }) => service === name)
    return judgeService(name, listed, facts)
  })

/** Whether a problem is that of a worker which one of these findings names. */
export const isAboutOneOf = (problem: Reason | null, findings: readonly Finding[]): boolean =>
  problem?.code === ('cml_refuses_on_workers' satisfies ReasonCode) &&
  findings.some(({ reason }) => reason?.code !== problem.code && reason?.params.worker_id === problem.params.worker_id)

function judgeService(name: string, listed: Listed | undefined, { nowMs, profile, workers }: ServiceFacts): Finding[] {
  const instances = listed?.instances ?? []
  const leading = instances.find(({ is_leader }) => is_leader)
  const problems = instances
    .flatMap(instance => problemsOf(name, instance))
    .filter(({ reason = null }) => !isAboutOneOf(reason, workers))
  if (leading === undefined) return [leaderless(name, instances.length, profile), ...problems]
  const troubles = [...watchOf(name, leading, profile), ...sweepOf(name, leading, nowMs), ...problems]
  if (troubles.length > 0) return troubles
  const others = instances.length - 1
  const standby = others === 0 ? '' : `, ${others} on standby`
  return [ok('services', `${name} OK, leader ${leading.instance_id}${standby}`)]
}

/** Advice for the embedded profile, which has neither etcd nor separate processes. */
const EMBEDDED_NEXT = 'it runs inside `lcm up`: try again in a moment, then check the log of `lcm up` and restart it'

function leaderless(name: string, count: number, profile: Profile): Finding {
  if (count === 0) {
    const own = `start it with \`lcm serve ${name}\`, and check CONTROL_PLANE_API_URL and LCM_SERVICE_TOKEN of running instances`
    return failure('services', `no instance of ${name} has sent a heartbeat for 30 s`, nextIn(profile, own))
  }
  const message = `${name} has no leader, although ${count === 1 ? '1 instance is running' : `${count} instances are running`}`
  const next = nextIn(profile, 'leaders are elected through etcd: check etcd first, then the logs of the instances')
  return failure('services', message, next)
}

const nextIn = (profile: Profile, own: string): string => (profile === 'embedded' ? EMBEDDED_NEXT : own)

function watchOf(name: string, { watch, instance_id }: Instance, profile: Profile): Finding[] {
  if (watch.healthy) return []
  const age = watch.age_seconds === null ? '' : `, silent for ${formatDuration(watch.age_seconds * 1000)}`
  const message = `${name} on ${instance_id} receives no change notifications${age}; it polls instead`
  return [warning('services', message, nextIn(profile, 'check etcd and the network connection to it'))]
}

function sweepOf(name: string, { last_sweep, since, instance_id }: Instance, nowMs: number): Finding[] {
  const from = last_sweep ?? since
  const ageMs = from === null ? 0 : nowMs - toMs(from)
  if (ageMs < SWEEP_MS_MAX) return []
  const message = `the last full sweep of ${name} on ${instance_id} was ${formatDuration(ageMs)} ago`
  return [warning('services', message, 'check its log, and whether RECONCILE_POLLING_ENABLED=false is set')]
}

/** Problems that an instance reports. Denied AWS calls and outages are failures, even on a standby. */
const problemsOf = (name: string, { problems, is_leader, instance_id }: Instance): Finding[] =>
  problems.map(reason => {
    const message = `${name} on ${instance_id}: ${reason.message}`
    const aboutTls = judgeCertificate('services', reason)
    if (aboutTls !== null) return { ...aboutTls, message }
    const judge = is_leader || CERTAIN.includes(reason.code) ? failure : warning
    return { ...judge('services', message, adviceFor(reason, name)), reason }
  })

const CERTAIN: readonly string[] = ['aws_refuses_call', 'dependency_outage', 'cml_outage'] satisfies ReasonCode[]

function adviceFor({ code, params }: Reason, service: string): string {
  switch (code as ReasonCode) {
    case 'aws_refuses_call':
      return params.error_class === 'quota'
        ? 'request a higher quota from AWS (Service Quotas, EC2), or use fewer or smaller machines'
        : 'grant the missing permission: docs/how-to/run-on-aws.md has the policy'
    case 'dependency_outage':
    case 'cml_outage':
      return OUTAGE_NEXT
    case 'cml_refuses_on_workers':
      return `see \`lcm why worker ${params.worker_id}\``
    case 'etcd_problem':
      return String(params.advice)
    case 'epoch_regressed':
      return `run \`lcm services reset-term ${service}\``
    default:
      return 'check its log'
  }
}
