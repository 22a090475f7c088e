import type { Dispatch } from '@lcm/contract/route-spec'
import { normalFingerprint } from '@lcm/domain/worker/instance-trust'

/** Machines and certificates that an operator has approved. */
export interface TrustRecord {
  /** Records requests on their way to the API; one whose response is lost may have been accepted. */
  record(dispatch: Dispatch): Dispatch
  isApproved(workerId: string): boolean
  isConfirmed(workerId: string, fingerprint: string): boolean
}

const TRUST = /^POST \S*\/workers\/(w-[^/]+)\/(approve|repin)$/

export function trustRecord(): TrustRecord {
  const approved = new Set<string>()
  const confirmed = new Set<string>()
  return {
    record: dispatch => async request => {
      const [, id, verb] = TRUST.exec(`${request.method} ${request.url}`) ?? []
      if (id !== undefined) {
        const { fingerprint } = JSON.parse(request.body ?? '{}')
        if (verb === 'approve') approved.add(id)
        if (typeof fingerprint === 'string') confirmed.add(`${id} ${normalFingerprint(fingerprint)}`)
      }
      return dispatch(request)
    },
    isApproved: id => approved.has(id),
    isConfirmed: (id, fingerprint) => confirmed.has(`${id} ${fingerprint}`),
  }
}
