import { cmlControl } from '../cml/cml-control-api.ts'
import { DEFAULT_CML_LOGIN } from '../cml/server-state.ts'
import type { SimModel } from '../sim-model.ts'
import { machineToProbe } from './compute-and-metrics-fixtures.ts'

/** Fixture of a simulated cloud for the CML suites, without network ports. */
export function cmlServerFixture(model: SimModel, advance: (ms: number) => Promise<void>) {
  const machine = machineToProbe(model, advance)
  const control = cmlControl(model)
  const act = async (method: string, name: string, body: object): Promise<void> => {
    const url = `/sim/v1/instances/${machine.id}/cml/${name}`
    const answer = control({ method, url, body: JSON.stringify(body) })
    if (answer?.status !== 200) throw new Error(`${method} ${url}: ${JSON.stringify(answer?.body)}`)
  }
  return {
    ...machine,
    advance,
    account: DEFAULT_CML_LOGIN,
    tokens: { good: 'a-good-token', bad: 'an-invalid-token' },
    forgetSessions: () => act('POST', 'forget-sessions', {}),
    setSmartAccountReachable: (isReachable: boolean) =>
      act('PATCH', 'faults', { license_server: isReachable ? 'reached' : 'not_reached' }),
    setTelemetry: (opt_in: boolean) => act('POST', 'telemetry', { opt_in }),
    typeOn: (typed: object) => act('POST', 'type', typed),
    setRefusedPaths: (refused_paths: readonly string[]) => act('PATCH', 'faults', { refused_paths }),
  }
}
