import { classifyAwsCode } from '@lcm/cloud/classify-aws-errors'
import type { Compute } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { SimModel } from '../sim-model.ts'
import { drawDelivery } from './draw-delivery-fault.ts'
import type { Delivery } from './fault-injector.ts'

type Call = keyof Compute

/**
 * Loses calls and responses in process as the network would, so that a caller can't tell whether its call had an
 * effect. Truncated and garbled responses count as lost.
 */
export function faultyCompute(compute: Compute, model: Pick<SimModel, 'faults'>): Compute {
  return new Proxy(compute, {
    get(target, name: Call) {
      const call = target[name]
      if (typeof call !== 'function') return call
      return async (...given: readonly unknown[]) => {
        const delivery = deliveryOf(model, name)
        if (delivery === 'lost_request') throw lost(name, delivery)
        const answer = await Reflect.apply(call, target, given)
        if (delivery !== null) throw lost(name, delivery)
        return answer
      }
    },
  })
}

/** Faults are scripted by EC2 action: the first action that a call of the port makes. */
const ACTIONS: Readonly<Record<string, string>> = {
  list: 'DescribeInstances',
  describe: 'DescribeInstances',
  newestImage: 'DescribeImages',
  launch: 'RunInstances',
  tag: 'CreateTags',
}

function deliveryOf({ faults }: Pick<SimModel, 'faults'>, name: Call): Delivery | null {
  const action = ACTIONS[name] ?? name
  try {
    return drawDelivery(faults, action)
  } catch (error) {
    if (!(error instanceof Ec2Refusal)) throw error
    const { code, status, message } = error
    throw new CloudError(classifyAwsCode(code, status), { code, action, message, cause: error })
  }
}

const CODES: Readonly<Record<Delivery, string>> = {
  lost_request: 'ECONNRESET',
  lost_answer: 'ECONNRESET',
  held: 'TimeoutError',
  empty: 'Unknown',
  truncated: 'Unknown',
  html: 'Unknown',
}

const lost = (name: Call, delivery: Delivery): CloudError =>
  new CloudError('transient', {
    code: CODES[delivery],
    action: ACTIONS[name] ?? name,
    message: 'the answer was lost on its way',
  })
