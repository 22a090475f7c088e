import { INSTANCE_TYPES, REGIONS } from '../ec2/regions-and-instance-types.ts'
import { DELIVERIES, type FaultInjector, type ScriptedFault } from '../faults/fault-injector.ts'
import { PRESETS } from '../faults/fault-plan.ts'
import { FaultPlanError } from '../faults/patch-fault-plan.ts'
import type { JsonText } from './json-member-reader.ts'

interface Given {
  readonly body: JsonText
  readonly text: string
}

/** Routes of faults and capacity; null for any other. */
export function faultsAnswer(faults: FaultInjector, route: string, { body, text }: Given): object | null {
  switch (route) {
    case 'GET /faults':
      return faults.state()
    case 'GET /presets':
      return PRESETS
    case 'PATCH /faults':
      faults.patch(text.trim() === '' ? {} : JSON.parse(text))
      return faults.state()
    case 'POST /faults/reset':
      faults.reset()
      return faults.state()
    case 'POST /faults/next':
      faults.script(scriptedIn(body))
      return faults.state()
    case 'PUT /capacity':
      setCapacity(faults, body)
      return faults.state()
    default:
      return null
  }
}

const TIMES_MAX = 1000

function scriptedIn(body: JsonText): ScriptedFault {
  const times = body.has('times') ? body.number('times') : 1
  if (!Number.isInteger(times) || times < 1 || times > TIMES_MAX) {
    throw new FaultPlanError(`times must be a whole number from 1 to ${TIMES_MAX}`)
  }
  return {
    action: body.text('action'),
    times,
    fault: body.has('error') ? errorIn(body.part('error')) : deliveryIn(body),
  }
}

function deliveryIn(body: JsonText) {
  const name = body.textOr('fault', '')
  const delivery = DELIVERIES.find(each => each === name)
  if (delivery) return delivery
  throw new FaultPlanError(`fault must be one of ${DELIVERIES.join(', ')}; or give error: {code, status, message}`)
}

function errorIn(error: JsonText) {
  const status = error.has('status') ? error.number('status') : 400
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new FaultPlanError('the status of an error is a number from 400 to 599')
  }
  return { code: error.text('code'), status, message: error.textOr('message', 'by request of the control API') }
}

function setCapacity(faults: FaultInjector, body: JsonText): void {
  const offering = { availability_zone: body.text('availability_zone'), instance_type: body.text('instance_type') }
  const zones = REGIONS.flatMap(region => region.subnets.map(subnet => subnet.availability_zone))
  if (!zones.includes(offering.availability_zone)) {
    throw new FaultPlanError(`availability_zone must be one of ${zones.join(', ')}`)
  }
  const types = INSTANCE_TYPES.map(type => type.name)
  if (!types.includes(offering.instance_type))
    throw new FaultPlanError(`instance_type must be one of ${types.join(', ')}`)
  // Without the field, a mistyped name would remove the limit.
  const isGiven = body.names().includes('available')
  const available = body.has('available') ? body.number('available') : null
  if (!isGiven || (available !== null && (!Number.isInteger(available) || available < 0))) {
    throw new FaultPlanError('available must be a whole number of machines that still fit, or null for no limit')
  }
  faults.setCapacity(offering, available)
}
