import type { EtcdMemberCheck, StoreCheck } from '../serve/examination.ts'
import { judgeClock } from './api.ts'
import { type Finding, failure, failureIn, ok, warning } from './finding.ts'

export function judgeStore({ location: place, problem, isComplete: isWhole }: StoreCheck): Finding {
  if (problem === null) {
    const part = isWhole ? '' : ', though it is too large to be read to its end here'
    return ok('store', `${place} is well${part}`)
  }
  const next = place.startsWith('sqlite:')
    ? 'if it is damaged stop LCM and restore a backup (docs/how-to/back-up.md)'
    : 'check that MongoDB runs, and the address, user and password in LCM_STORE'
  return failure('store', `${place} can't be used: ${problem}`, next)
}

/** `atMs`: the time here when they answered. */
export function judgeEtcd(members: readonly EtcdMemberCheck[], atMs: number): Finding[] {
  const found = members.flatMap(member => judgeMember(member, atMs))
  const lost = found.filter(({ severity }) => severity === 'failure')
  // A majority is enough for it to work.
  if (lost.length === 0 || lost.length * 2 >= members.length) return found
  return found.map(finding => (finding.severity === 'failure' ? { ...finding, severity: 'warning' } : finding))
}

const HALF_SECOND_MS = 500

function judgeMember(member: EtcdMemberCheck, atMs: number): Finding[] {
  const { endpoint, problem, version, hasLeader, alarms } = member
  if (problem !== null) return [failureIn('etcd', problem.message, 'check ETCD_ENDPOINTS')]
  if (alarms.includes('NOSPACE'))
    return [
      failure(
        'etcd',
        `etcd at ${endpoint} is full (alarm NOSPACE) and refuses writes`,
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
        'check that a majority of its members run and see each other',
      ),
    ]
  const told = ok(
    'etcd',
    `etcd ${version ?? 'of an unknown version'} answers at ${endpoint}${hasLeader ? ' and has a leader' : ''}`,
  )
  if (member.atMs === null) return [told]
  const skew = { ms: member.atMs + HALF_SECOND_MS - atMs, uncertaintyMs: 2000 }
  const clock = judgeClock(`etcd at ${endpoint}`, skew)
  return clock.severity === 'ok' ? [told] : [told, clock]
}

/** Where its address is not known here. */
export const unknownEtcd = (): Finding =>
  warning(
    'etcd',
    'etcd is not looked at: no ETCD_ENDPOINTS here',
    'run lcm doctor with the environment of the services',
  )
