import { IDS_PER_CALL } from './compute.ts'
import { CloudError, type CloudErrorClass } from './errors.ts'
import { askPermit } from './permits.ts'

/** One call of the cloud: the state that it named of each machine. Fails with a CloudError when it refused the whole call. */
export type PowerCall = (instanceIds: readonly string[]) => Promise<ReadonlyMap<string, string>>

/** Such a refusal may be about one machine only. After any other nothing is known of the whole call. */
const ABOUT_ONE_MACHINE: readonly CloudErrorClass[] = [
  'not_found',
  'state',
  'protected',
  'invalid',
  'capacity',
  'quota',
]

/**
 * Changes many machines in as few calls as it takes to tell the good from the bad. EC2 refuses a whole call for one of its
 * machines, though it may have changed some of the others: the machines that it names are left out and the rest is asked for
 * again, and if it names none, halves are. `onAnswer` is called once for every id. Before each call it is asked anew whether
 * whoever gave this signal still permits it.
 */
export async function powerEach(
  instanceIds: readonly string[],
  call: PowerCall,
  onAnswer: (id: string, outcome: string | CloudError) => void,
  signal: AbortSignal,
): Promise<void> {
  let batches = chunksOf([...new Set(instanceIds)], IDS_PER_CALL.power)
  for (let batch = batches[0]; batch; batch = batches[0]) {
    askPermit(signal)
    const answer = await answerOf(call, batch)
    const rest = batches.slice(1)
    if (!(answer instanceof CloudError)) {
      for (const id of batch) onAnswer(id, answer.get(id) ?? unmentioned(id))
      batches = rest
      continue
    }
    if (!ABOUT_ONE_MACHINE.includes(answer.errorClass)) {
      for (const id of batches.flat()) onAnswer(id, answer)
      return
    }
    const refused = refusedOf(batch, answer)
    for (const id of refused) onAnswer(id, answer)
    const left = batch.filter(id => !refused.includes(id))
    batches = [...(refused.length > 0 ? chunksOf(left, batch.length) : halvesOf(left)), ...rest]
  }
}

async function answerOf(call: PowerCall, ids: readonly string[]): Promise<ReadonlyMap<string, string> | CloudError> {
  try {
    return await call(ids)
  } catch (error) {
    if (error instanceof CloudError) return error
    throw error
  }
}

/** Those that the refusal speaks of; a call for one machine needs no name. */
function refusedOf(batch: readonly string[], { message }: CloudError): readonly string[] {
  if (batch.length === 1) return batch
  const words = new Set(message.split(/[^\w-]+/))
  return batch.filter(id => words.has(id))
}

export function chunksOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, n) => items.slice(n * size, (n + 1) * size))
}

const halvesOf = (ids: readonly string[]) => chunksOf(ids, Math.ceil(ids.length / 2))

const unmentioned = (id: string) =>
  new CloudError('transient', { code: 'MalformedAnswer', action: 'power', message: `an answer without ${id}` })
