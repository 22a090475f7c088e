import { momentText } from '../format-amounts.ts'
import { CML_REFUSALS } from './worker-reasons.ts'

type Since = { readonly since: string }

/** What keeps a process of LCM from working: its heartbeat, its health and `lcm doctor` show the same list. */
export const PROBLEM_REASONS = {
  dependency_outage: ({ dependency, since, error }: Since & { dependency: string; error: string }) =>
    `${dependency} has not answered since ${momentText(since)}: ${error}`,
  cml_outage: ({ silent, running, since }: Since & { silent: number; running: number }) =>
    `CML of ${silent} of ${running} running workers has not answered since ${momentText(since)}`,
  cml_refuses_on_workers: ({ part, workers, count, since }: RefusingWorkers) => {
    const more = count > workers.length ? ` and ${count - workers.length} more` : ''
    return `${CML_REFUSALS[part]} on ${workers.join(', ')}${more}, since ${momentText(since)}`
  },
  aws_refuses_call: ({ operation, instance_type, region, since, error, next_try_at }: RefusedCall) => {
    const call = `${operation}${instance_type === null ? '' : ` of ${instance_type}`} in ${region}`
    return `AWS has refused ${call} since ${momentText(since)}: ${error}; next try at ${momentText(next_try_at)}`
  },
  etcd_problem: ({ since, error }: Since & { etcd_code: string; error: string; advice: string }) =>
    `${error}, since ${momentText(since)}`,
  epoch_regressed: ({ service }: { service: string }) =>
    `the API has registered a newer leader. If no old ${service} is running, run \`lcm services reset-term ${service}\``,
  watch_degraded: () => 'the watch is degraded; LCM polls instead',
  tls_certificate_expires: ({ file, expires_at, expired }: { file: string; expires_at: string; expired: boolean }) =>
    `the TLS certificate in ${file} ${expired ? 'expired' : 'expires'} at ${momentText(expires_at)}`,
  tls_certificate_rejected: ({ error, expires_at }: { error: string; expires_at: string }) =>
    `${error}; the certificate in use was loaded before and expires at ${momentText(expires_at)}`,
  waiting_for: ({ dependency }: { dependency: string }) => `waiting for ${dependency}`,
}

interface RefusingWorkers extends Since {
  readonly part: keyof typeof CML_REFUSALS
  /** The names of the first workers. */
  readonly workers: readonly string[]
  /** The number of all. */
  readonly count: number
  /** One of them: `lcm why` shows its fix. */
  readonly worker_id: string
}

interface RefusedCall extends Since {
  readonly operation: string
  readonly instance_type: string | null
  readonly region: string
  readonly error_class: string
  readonly aws_code: string
  readonly error: string
  readonly next_try_at: string
}
