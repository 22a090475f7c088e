import type { Ec2 } from '../ec2/ec2.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { FaultInjector } from './fault-injector.ts'
import { requestLimits } from './request-limits.ts'

type Call = keyof Ec2

/** EC2's name of a call: `runInstances` is `RunInstances`. */
export const actionOf = (call: Call): string => call.charAt(0).toUpperCase() + call.slice(1)

/** Admits a call of an AWS API, or throws the error of the service. */
export type Admit = (asked: AdmissionRequest) => void

export interface AdmissionRequest {
  readonly region: string
  readonly action: string
  readonly request: object
}

/** EC2 as callers of its API get it: with request limits and injected errors. */
export function faultyEc2(ec2: Ec2, admit: Admit): Ec2 {
  return new Proxy(ec2, {
    get(target, name: Call) {
      const call = target[name]
      if (typeof call !== 'function') return call
      return (region: string, request: object) => {
        admit({ region, action: actionOf(name), request })
        return Reflect.apply(call, target, [region, request])
      }
    },
  })
}

export function admission({ faults, now }: { readonly faults: FaultInjector; now(): number }): Admit {
  const limits = requestLimits(now)
  return ({ region, action, request }) => {
    const plan = faults.plan()
    if (plan.request_limits) {
      limits.take({ region, action, resources: resourcesOf(request), narrowed: isNarrowed(request) })
    }
    if (faults.strikes(plan.server_error_rate, 'server-error', action)) throw serverError(faults.draw('which-error'))
    const isLaterPage = 'next_token' in request && request.next_token !== null
    if (isLaterPage && faults.strikes(plan.second_page_error_rate, 'second-page', action)) throw serverError(0)
  }
}

function resourcesOf(request: object): number {
  if ('ids' in request && Array.isArray(request.ids)) return request.ids.length
  return 'count' in request && typeof request.count === 'number' ? request.count : 1
}

const isNarrowed = (request: object): boolean =>
  ('filters' in request && Array.isArray(request.filters) && request.filters.length > 0) ||
  ('max_results' in request && request.max_results !== null)

const serverError = (drawn: number): Ec2Refusal =>
  drawn < 0.5
    ? new Ec2Refusal('InternalError', 'An internal error has occurred', 500)
    : new Ec2Refusal('Unavailable', 'The server is overloaded and cannot handle the request.', 503)
