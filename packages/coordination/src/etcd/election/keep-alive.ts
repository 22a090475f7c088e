import { linkedAbort } from '@lcm/runtime'
import { bytesOf } from '../change-keys/key-state.ts'
import type { Connection } from '../client/connection.ts'
import { ask, askMember, type Members } from '../client/members.ts'
import { EtcdError, isProblem, problemOf } from '../client/problem.ts'
import { KV, Maintenance } from '../generated/etcd_pb.ts'

const PULSE_EVERY_MS = 5_000
const PULSE_TIMEOUT_MS = 2_000

/**
 * Looks at every member now and then, so that health is true though nobody asks for anything, and a member that failed
 * is found to be well again. The answer ends it.
 */
export function keepPulse(members: Members, probeKey: string): () => void {
  const over = linkedAbort()
  const run = async () => {
    while (!over.signal.aborted) {
      await takePulse(members, probeKey, over.signal)
      await members.clock.sleep(PULSE_EVERY_MS, over.signal)
    }
  }
  void run()
  return () => over.abort(new EtcdError('etcd_closed', members.all[0]?.endpoint ?? '', 'it is no longer needed'))
}

async function takePulse(members: Members, probeKey: string, signal: AbortSignal): Promise<void> {
  const looks = await Promise.allSettled(members.all.map(member => look(members, member, signal)))
  if (signal.aborted) return
  const errors = looks.flatMap(({ status, ...result }) => ('reason' in result ? [result.reason] : []))
  const full = errors.find(error => isProblem(error, 'etcd_no_space'))
  const [first] = errors
  const isUnwell = full !== undefined || errors.length === looks.length
  const worst = full ?? first
  if (!isUnwell) members.book.done('status')
  else if (worst instanceof EtcdError) members.book.failed('status', worst)
  if (errors.length < looks.length || full !== undefined) await probe(members, probeKey, signal)
}

async function look(members: Members, member: Connection, signal: AbortSignal): Promise<void> {
  const question = {
    method: Maintenance.method.status,
    request: {},
    timeoutMs: PULSE_TIMEOUT_MS,
    asked: 'status',
    signal,
  } as const
  const { errors } = await askMember(members, member, question, undefined)
  const alarm = errors.find(text => text.includes('NOSPACE'))
  if (alarm !== undefined) throw problemOf(member.endpoint, { code: 8, details: alarm.trim() })
}

/** A read that needs a majority and the right to read. What goes wrong is in the book. */
async function probe(members: Members, probeKey: string, signal: AbortSignal): Promise<void> {
  const request = { key: bytesOf(probeKey), limit: 1n }
  const question = { method: KV.method.range, request, asked: 'read', timeoutMs: PULSE_TIMEOUT_MS, signal } as const
  await ask(members, question).catch(() => undefined)
}
