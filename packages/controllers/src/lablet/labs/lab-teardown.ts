import type { CmlLab } from '@lcm/cloud/cml-labs'
import { type Reason, reason } from '@lcm/domain/reason'
import type { FencedLabs } from './fenced-labs.ts'

/** The target of a teardown. */
export type Depth = 'stop' | 'wipe' | 'delete'

export type TeardownAct = 'stop' | 'wipe' | 'delete' | 'done'

export const isIdleState = (state: string): boolean => state === 'STOPPED' || state === 'DEFINED_ON_CORE'

/** The next action of a teardown. A wiped lab and one that never ran have the same state. */
export function nextTeardownAct(state: string, depth: Depth): TeardownAct {
  if (!isIdleState(state)) return 'stop'
  if (depth === 'stop') return 'done'
  if (state === 'STOPPED') return 'wipe'
  return depth === 'wipe' ? 'done' : 'delete'
}

/** Sends one request, or checks on the last one. Returns what it waits for; null once the teardown is complete or the lab is gone. */
export async function tearDownLab(
  cmlLabs: FencedLabs,
  lab: CmlLab,
  { depth, asked }: { depth: Depth; asked: Set<string> },
): Promise<Reason | null> {
  const act = nextTeardownAct(lab.state, depth)
  if (act === 'done') return (await cmlLabs.isConverged(lab.lab_id)) ? null : reason('lab_settling', { lab: lab.title })
  if (act === 'delete') {
    await cmlLabs.delete(lab.lab_id)
    return null
  }
  const key = `${lab.lab_id}:${act}`
  if (!asked.has(key)) {
    await cmlLabs[act](lab.lab_id)
    asked.add(key)
  }
  return reason(act === 'stop' ? 'lab_being_stopped' : 'lab_being_wiped', { lab: lab.title })
}
