import type { SchedulingStep } from '@lcm/domain/session/scheduling-step'
import { unschedulable } from '@lcm/domain/session/unschedulable'

const REASON_CHARS_MAX = 1000

/** What its owner reads. `refusal` is why a worker that was asked for is not to be had. */
export function reasonOf(
  { because, forGood }: Pick<Extract<SchedulingStep, { kind: 'wait' }>, 'because' | 'forGood'>,
  refusal: string | null,
): string {
  const refused = refusal === null ? because : `${because}, and refused: ${refusal}`
  return (forGood ? unschedulable(refused) : refused).slice(0, REASON_CHARS_MAX)
}

/** Seconds run by themselves; telling each would be a write a cycle. */
const gist = (reason: string): string => reason.replaceAll(/\d+ s\b/g, '# s')

export const isNewReason = (known: string | null, reason: string): boolean =>
  known === null || gist(known) !== gist(reason)
