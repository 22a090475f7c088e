import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { Worker } from '@lcm/domain/worker/worker'
import { CML_LOGIN, LICENSE, PLANTED_TAG } from '../../world/planted-secrets.ts'
import type { Mutation } from '../cloud-mutation.ts'

export interface SentSecretParts {
  readonly cloud: SimModel
  /** Every launch that a controller requested, by its token. */
  readonly mutations: readonly Mutation[]
  workerOf(machine: string): Promise<Worker | null>
  violated(rule: string): void
}

/**
 * Wraps a CML port. The fleet password and license tokens reach only machines that LCM launched itself, and the password also those
 * for which a user has set it.
 */
export function sentSecrets({ cloud, mutations, workerOf, violated }: SentSecretParts) {
  const isLaunched = (machine: string): boolean => {
    const { client_token: token, tags } = cloud.machine(machine)?.instance ?? {}
    // Its token is no proof: an attacker can compute it and launch with it first.
    if (tags?.[PLANTED_TAG] !== undefined) return false
    return mutations.some(({ act, machine: launched }) => act === 'launch' && launched === token)
  }

  async function check(login: Partial<CmlLogin> | undefined, sent: unknown): Promise<void> {
    if (login?.url === undefined || login.password !== CML_LOGIN.password) return
    const machine = cloud.cml.reachedAt(login.url)
    if (machine === null || isLaunched(machine)) return
    const where = `${machine}, which LCM did not launch`
    if (JSON.stringify(sent)?.includes(LICENSE.token)) violated(`a license token was sent to ${where}`)
    if ((await workerOf(machine))?.secret_refs.cml_login === undefined)
      violated(`the fleet password was sent to ${where}`)
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
