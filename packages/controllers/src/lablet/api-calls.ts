import { type Client, isProblem, unlessMissing } from '@lcm/client/client'
import { pagesOf } from '@lcm/client/list-pages'
import type { BodyInput } from '@lcm/contract/routes'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { Reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Election } from '@lcm/runtime'
import { fencedWrite } from '../kit/fenced-write.ts'

export interface Writer {
  readonly client: Client
  readonly election: Election
  readonly epoch: number
  readonly signal: AbortSignal
}

export type LabChanges = BodyInput<'reportLab'>['changes']

export const fetchWorker = (client: Client, id: string, signal: AbortSignal): Promise<Worker | null> =>
  unlessMissing(client.call('getWorker', { params: { id }, signal }))

export const fetchSession = (client: Client, id: string, signal: AbortSignal) =>
  unlessMissing(client.call('getSession', { params: { id }, signal }))

export const fetchDefinition = (client: Client, id: string, signal: AbortSignal) =>
  unlessMissing(client.call('getDefinition', { params: { id }, signal }))

export const fetchLab = (client: Client, id: string, signal: AbortSignal): Promise<LabRecord | null> =>
  unlessMissing(client.call('getLab', { params: { id }, signal }))

/** All labs on record that are not removed, of one worker or session. */
export async function labsOnRecord(
  client: Client,
  query: { worker_id?: string; session_id?: string },
  signal: AbortSignal,
): Promise<LabRecord[]> {
  const found: LabRecord[] = []
  for await (const page of pagesOf(at => client.call('listLabs', { query: { ...query, ...at }, signal })))
    found.push(...page)
  return found
}

const TRIES_MAX = 3

/** Writes changes to the newest version of a lab record, unless it has them already. */
export async function reportLab(
  { client, election, epoch, signal }: Writer,
  recordId: string,
  { changes, action, because }: { changes: LabChanges; action: string; because: Reason },
): Promise<LabRecord | null> {
  const decision = { action, because }
  for (let tries = 1; ; tries += 1) {
    const record = await fetchLab(client, recordId, signal)
    if (record === null || saysAlready(record, changes)) return record
    const call = { params: { id: recordId }, ifMatch: record.version, epoch, signal, body: { changes, decision } }
    try {
      return await fencedWrite(election, () => client.call('reportLab', call))
    } catch (error) {
      const isLost = error instanceof Error && isProblem(error.cause, 'version_mismatch')
      if (!isLost || tries === TRIES_MAX) throw error
    }
  }
}

const saysAlready = (record: LabRecord, changes: LabChanges): boolean =>
  Object.entries(changes).every(
    ([name, value]) => JSON.stringify(record[name as keyof LabRecord]) === JSON.stringify(value),
  )
