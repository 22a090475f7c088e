import type { EtcdMemberCheck, StoreCheck } from '../serve/doctor-probes.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { judgeClock } from './judge-api.ts'

export function judgeStore({ location, problem, isComplete }: StoreCheck): Finding {
  if (problem === null) {
    const part = isComplete ? '' : ' (too large for a complete check)'
    return ok('store', `${location} OK${part}`)
  }
  const next = location.startsWith('sqlite:')
    ? 'if it is damaged, stop LCM and restore a backup (docs/how-to/back-up.md)'
    : 'check that MongoDB is running, and the address, user and password in LCM_STORE'
  return failure('store', `${location} can't be used: ${problem}`, next)
}

/** `atMs` is the local time of the response. */
export function judgeEtcd(members: readonly EtcdMemberCheck[], atMs: number): Finding[] {
  const found = members.flatMap(member => judgeMember(member, atMs))
  const lost = found.filter(({ severity }) => severity === 'failure')
  // etcd works as long as a majority of its members does.
  if (lost.length === 0 || lost.length * 2 >= members.length) return found
  return found.map(finding => (finding.severity === 'failure' ? { ...finding, severity: 'warning' } : finding))
}

const HALF_SECOND_MS = 500

function judgeMember(member: EtcdMemberCheck, atMs: number): Finding[] {
  const { endpoint, problem, version, hasLeader, alarms } = member
  if (problem !== null) return [failure('etcd', problem.message, problem.advice)]
  if (alarms.includes('NOSPACE'))
    return [
      failure(
        'etcd',
        `etcd at ${endpoint} is full (alarm NOSPACE) and rejects writes`,
        'compact and defragment it, then run etcdctl alarm disarm',
      ),
    ]
  if (alarms.length > 0)
    return [
      failure('etcd', `etcd at ${endpoint} has the alarm ${alarms.join(', ')}`, 'replace that member (etcdctl member)'),
    ]
  if (hasLeader === false)
    return [
      failure(
        'etcd',
        `etcd at ${endpoint} has no leader`,
        'check that a majority of its members is running and connected',
      ),
    ]
  const finding = ok(
    'etcd',
    `etcd ${version ?? 'of an unknown version'} responds at ${endpoint}${hasLeader ? ' and has a leader' : ''}`,
  )
  if (member.atMs === null) return [finding]
  const skew = { ms: member.atMs + HALF_SECOND_MS - atMs, uncertaintyMs: 2000 }
  const clock = judgeClock(`etcd at ${endpoint}`, skew)
  return clock.severity === 'ok' ? [finding] : [finding, clock]
}

/** The warning if no etcd address is configured. */
export const unknownEtcd = (): Finding =>
  warning(
    'etcd',
    'etcd was not checked: ETCD_ENDPOINTS is not set',
    'run `lcm doctor` with the environment variables of the services',
  )
