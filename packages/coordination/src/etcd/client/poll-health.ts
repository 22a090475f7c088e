import { linkedAbort } from '@lcm/runtime'
import { KV, Maintenance } from '../generated/etcd_pb.ts'
import type { Connection } from './connection.ts'
import { EtcdError, etcdErrorFrom, isEtcdError } from './errors.ts'
import { bytesOf } from './key-state.ts'
import { callAnyMember, callMember, type Members } from './members.ts'

const POLL_EVERY_MS = 5_000
const POLL_TIMEOUT_MS = 2_000

/**
 * Polls every member, so that health is current even without calls, and a failed member is detected as healthy again.
 * The returned function stops it.
 */
export function pollHealth(members: Members, probeKey: string): () => void {
  const over = linkedAbort()
  const run = async () => {
    while (!over.signal.aborted) {
      await pollMembers(members, probeKey, over.signal)
      await members.clock.sleep(POLL_EVERY_MS, over.signal)
    }
  }
  void run()
  return () => over.abort(new EtcdError('etcd_closed', members.all[0]?.endpoint ?? '', 'it is closed'))
}

async function pollMembers(members: Members, probeKey: string, signal: AbortSignal): Promise<void> {
  const results = await Promise.allSettled(members.all.map(member => checkMember(members, member, signal)))
  if (signal.aborted) return
  const errors = results.flatMap(({ status, ...result }) => ('reason' in result ? [result.reason] : []))
  const full = errors.find(error => isEtcdError(error, 'etcd_no_space'))
  const [first] = errors
  const isUnhealthy = full !== undefined || errors.length === results.length
  const worst = full ?? first
  if (!isUnhealthy) members.health.done('status')
  else if (worst instanceof EtcdError) members.health.failed('status', worst)
  if (errors.length < results.length || full !== undefined) await probe(members, probeKey, signal)
}

async function checkMember(members: Members, member: Connection, signal: AbortSignal): Promise<void> {
  const call = {
    method: Maintenance.method.status,
    request: {},
    timeoutMs: POLL_TIMEOUT_MS,
    kind: 'status',
    signal,
  } as const
  const { errors } = await callMember(members, member, call, undefined)
  const alarm = errors.find(text => text.includes('NOSPACE'))
  if (alarm !== undefined) throw etcdErrorFrom(member.endpoint, { code: 8, details: alarm.trim() })
}

/** A quorum read that also needs read permission. The health tracker records failures. */
async function probe(members: Members, probeKey: string, signal: AbortSignal): Promise<void> {
  const request = { key: bytesOf(probeKey), limit: 1n }
  const call = { method: KV.method.range, request, kind: 'read', timeoutMs: POLL_TIMEOUT_MS, signal } as const
  await callAnyMember(members, call).catch(() => undefined)
}
