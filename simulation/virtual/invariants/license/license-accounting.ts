import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'

export interface OwnedLicenseParts {
  readonly cloud: Pick<SimModel, 'cml' | 'machine'>
  readonly latest: ReadonlyMap<string, Worker>
}

/** The Smart Account never counts more licenses than it owns, nor two for one live worker. */
export function overdrawnLicenses({ cloud }: Pick<OwnedLicenseParts, 'cloud'>): readonly string[] {
  const seats = cloud.cml.smartAccount()
  const owned = cloud.cml.licensesOwned
  const holders = seats.flatMap(({ instance_id, left_behind }) => {
    const view = left_behind ? null : cloud.machine(instance_id)
    if (view === null || view.state === 'terminated' || view.state === 'shutting-down') return []
    return view.instance.tags[TAG.workerId] ?? []
  })
  const twice = holders.filter((holder, n) => holders.indexOf(holder) < n)
  return [
    ...(seats.length > owned ? [`${seats.length} licenses are held, and ${owned} are owned`] : []),
    ...twice.map(worker => `${worker} holds two licenses`),
  ]
}

/** A settled worker reports a license exactly when the Smart Account counts one for it. */
export function wrongLicenseStatus({ cloud, latest }: OwnedLicenseParts): readonly string[] {
  const seats = cloud.cml.smartAccount().filter(({ left_behind }) => !left_behind)
  const holders = new Set(seats.map(({ instance_id }) => instance_id))
  return [...latest.values()].flatMap(({ name, status, service_status, ec2_instance_id, license }) => {
    if (status !== 'RUNNING' || service_status !== 'AVAILABLE' || ec2_instance_id === null) return []
    const isHeld = holders.has(ec2_instance_id)
    const mayHold = license.status === 'REGISTERED' || license.unsettled !== null
    if (license.status === 'REGISTERED' && !isHeld) return [`${name} reports a license and holds none`]
    return isHeld && !mayHold ? [`${name} holds a license and reports ${license.status}`] : []
  })
}
