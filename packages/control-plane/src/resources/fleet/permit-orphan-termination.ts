import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { permitOrphan } from '@lcm/domain/fleet/decide-orphan'
import type { Api, Request } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { changeScaling } from './change-fleet-scaling.ts'

/**
 * Rate limit for terminating instances without a record. It is stored by compare-and-set, so that a new leader knows what the
 * last one terminated. A repeated request gets the same permit.
 */
export async function permitOrphanTermination(
  api: Api,
  request: Request<object, unknown, BodyOf<'permitOrphanTermination'>>,
): Promise<AnswerOf<'permitOrphanTermination'>> {
  const { ec2_instance_id: id, aws_region, reason } = request.body
  let answer: AnswerOf<'permitOrphanTermination'> | null = null
  await changeScaling(
    api,
    async (scaling, now) => {
      const fleet = await listAllWorkers(api, {})
      const size = fleet.filter(each => each.status !== 'TERMINATED' && each.ec2_instance_id !== null).length
      const { granted, because, terminations } = permitOrphan(id, scaling, size, now)
      answer = { granted, because }
      if (!granted || scaling.orphan_terminations[id] === terminations[id]) return null
      const entry = auditEntry(request.actor, 'terminate_orphan', now, {
        after: { instance_id: id, aws_region },
        reason: reason.message,
      })
      return { scaling: { ...scaling, orphan_terminations: terminations }, entries: [entry] }
    },
    request,
  )
  if (answer === null) throw new Error('a permit was neither granted nor refused')
  return answer
}
