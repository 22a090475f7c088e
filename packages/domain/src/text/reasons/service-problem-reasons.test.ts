import { reason } from '../../reason.ts'
import { PROBLEM_REASONS } from './service-problem-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const SINCE = '2026-01-02T03:04:05.678Z'
const call = {
  operation: 'RunInstances',
  instance_type: 'm5zn.metal',
  region: 'us-east-1',
  error_class: 'quota',
  aws_code: 'VcpuLimitExceeded',
  since: SINCE,
  error: 'VcpuLimitExceeded: no',
  next_try_at: '2026-01-02T03:05:05.678Z',
}
const refusing = { part: 'login', workers: ['metal-1', 'metal-2'], worker_id: 'w-1', since: SINCE } as const

const ROWS: readonly MessageRow[] = [
  [
    reason('dependency_outage', { dependency: 'EC2 in us-east-1', since: SINCE, error: 'timeout' }),
    'EC2 in us-east-1 has not answered since 2026-01-02 03:04 UTC: timeout',
  ],
  [
    reason('cml_outage', { silent: 3, running: 4, since: SINCE }),
    'CML of 3 of 4 running workers has not answered since 2026-01-02 03:04 UTC',
  ],
  [
    reason('cml_refuses_on_workers', { ...refusing, count: 2 }),
    "CML refuses LCM's login on metal-1, metal-2, since 2026-01-02 03:04 UTC",
  ],
  [
    reason('cml_refuses_on_workers', { ...refusing, count: 5 }),
    "CML refuses LCM's login on metal-1, metal-2 and 3 more, since 2026-01-02 03:04 UTC",
  ],
  [
    reason('aws_refuses_call', call),
    'AWS has refused RunInstances of m5zn.metal in us-east-1 since 2026-01-02 03:04 UTC: ' +
      'VcpuLimitExceeded: no; next try at 2026-01-02 03:05 UTC',
  ],
  [
    reason('aws_refuses_call', { ...call, instance_type: null }),
    'AWS has refused RunInstances in us-east-1 since 2026-01-02 03:04 UTC: VcpuLimitExceeded: no; next try at 2026-01-02 03:05 UTC',
  ],
  [
    reason('etcd_problem', { etcd_code: 'etcd_slow', since: SINCE, error: 'etcd is slow', advice: 'check its load' }),
    'etcd is slow, since 2026-01-02 03:04 UTC',
  ],
  [
    reason('epoch_regressed', { service: 'worker-controller' }),
    'the API has registered a newer leader. If no old worker-controller is running, run `lcm services reset-term worker-controller`',
  ],
  [reason('watch_degraded'), 'the watch is degraded; LCM polls instead'],
  [
    reason('tls_certificate_expires', { file: '/tls.crt', expires_at: SINCE, expired: false }),
    'the TLS certificate in /tls.crt expires at 2026-01-02 03:04 UTC',
  ],
  [
    reason('tls_certificate_expires', { file: '/tls.crt', expires_at: SINCE, expired: true }),
    'the TLS certificate in /tls.crt expired at 2026-01-02 03:04 UTC',
  ],
  [
    reason('tls_certificate_rejected', { error: 'no key', expires_at: SINCE }),
    'no key; the certificate in use was loaded before and expires at 2026-01-02 03:04 UTC',
  ],
  [reason('waiting_for', { dependency: 'the store' }), 'waiting for the store'],
]

checkMessages(PROBLEM_REASONS, ROWS)
