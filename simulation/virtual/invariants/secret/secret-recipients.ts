import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { Worker } from '@lcm/domain/worker/worker'
import { LICENSE, PLANTED_TAG } from '../../world/planted-secrets.ts'
import type { Mutation } from '../cloud-mutation.ts'
import type { TrustRecord } from './trust-record.ts'

export interface SentSecretParts {
  readonly cloud: SimModel
  /** Every launch that a controller requested, by its token. */
  readonly mutations: readonly Mutation[]
  workerOf(machine: string): Promise<Worker | null>
  readonly trust: Pick<TrustRecord, 'isApproved'>
  violated(rule: string): void
}

/**
 * Wraps a CML port. Passwords and license tokens reach only machines that LCM launched itself or that an operator approved.
 */
export function sentSecrets({ cloud, mutations, workerOf, trust, violated }: SentSecretParts) {
  const isLaunched = (machine: string): boolean => {
    const { client_token: token, tags } = cloud.machine(machine)?.instance ?? {}
    // Its token is no proof: an attacker can compute it and launch with it first.
    if (tags?.[PLANTED_TAG] !== undefined) return false
    return mutations.some(({ act, machine: launched }) => act === 'launch' && launched === token)
  }

  async function check(login: Partial<CmlLogin> | undefined, sent: unknown): Promise<void> {
    if (login?.url === undefined || login.password === undefined) return
    const machine = cloud.cml.reachedAt(login.url)
    if (machine === null || isLaunched(machine)) return
    const worker = await workerOf(machine)
    if (worker !== null && trust.isApproved(worker.id)) return
    const where = `${machine}, which LCM did not launch and no operator approved`
    if (JSON.stringify(sent)?.includes(LICENSE.token)) violated(`a license token was sent to ${where}`)
    violated(`a password was sent to ${where}`)
  }

  return <Port extends object>(port: Port): Port => ({
    ...port,
    ...Object.fromEntries(
      Object.entries(port).map(([name, call]) => [
        name,
        async (...args: readonly unknown[]) => {
          await check(args[0] as Partial<CmlLogin> | undefined, args[1])
          return call(...args)
        },
      ]),
    ),
  })
}
