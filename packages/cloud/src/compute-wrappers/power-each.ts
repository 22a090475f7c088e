import { IDS_PER_CALL, type PowerStates } from '../compute.ts'
import { CloudError, type CloudErrorClass } from '../errors.ts'

type PowerCall = (instanceIds: readonly string[]) => Promise<PowerStates>

/**
 * For each machine the state that the cloud reported, or why it was not changed; after `transient` it may have been.
 */
export type PowerOutcome = ReadonlyMap<string, string | CloudError>

/** Errors that may concern one machine only. After any other error the outcome of the whole call is unknown. */
const MACHINE_ERRORS: readonly CloudErrorClass[] = ['not_found', 'state', 'protected', 'invalid', 'capacity', 'quota']

/**
 * Changes many machines in as few calls as possible. EC2 rejects a whole call because of one machine, though it may
 * have changed some of the others: the machines named in the error are left out and the rest is retried, and if none is
 * named, the call is split in halves.
 */
export async function powerEach(instanceIds: readonly string[], call: PowerCall): Promise<PowerOutcome> {
  const outcome = new Map<string, string | CloudError>()
  let batches = chunks([...new Set(instanceIds)], IDS_PER_CALL.power)
  for (let batch = batches[0]; batch; batch = batches[0]) {
    const answer = await answerOf(call, batch)
    const rest = batches.slice(1)
    if (!(answer instanceof CloudError)) {
      for (const id of batch) outcome.set(id, answer.get(id) ?? missingInResponse(id))
      batches = rest
      continue
    }
    if (!isMachineError(batch, answer)) {
      for (const id of batches.flat()) outcome.set(id, answer)
      return outcome
    }
    const refused = refusedOf(batch, answer)
    for (const id of refused) outcome.set(id, answer)
    const left = batch.filter(id => !refused.includes(id))
    batches = [...(refused.length > 0 ? chunks(left, batch.length) : halvesOf(left)), ...rest]
  }
  return outcome
}

async function answerOf(call: PowerCall, ids: readonly string[]): Promise<PowerStates | CloudError> {
  try {
    return await call(ids)
  } catch (error) {
    if (error instanceof CloudError) return error
    throw error
  }
}

/** A policy may forbid one machine, such as one without our tags, and then names it. */
const isMachineError = (batch: readonly string[], error: CloudError): boolean =>
  MACHINE_ERRORS.includes(error.errorClass) || (error.errorClass === 'auth' && namedIn(batch, error).length > 0)

/** Machines that the error names; a call for one machine needs no name. */
function refusedOf(batch: readonly string[], error: CloudError): readonly string[] {
  return batch.length === 1 ? batch : namedIn(batch, error)
}

function namedIn(batch: readonly string[], { message }: CloudError): readonly string[] {
  const words = new Set(message.split(/[^\w-]+/))
  return batch.filter(id => words.has(id))
}

export function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, n) => items.slice(n * size, (n + 1) * size))
}

const halvesOf = (ids: readonly string[]) => chunks(ids, Math.ceil(ids.length / 2))

const missingInResponse = (id: string) =>
  new CloudError('transient', { code: 'MalformedAnswer', action: 'power', message: `the response lacks ${id}` })
