import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlEndpoint } from '@lcm/cloud/cml-login'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { faultyCompute } from '@lcm/cloud-sim/faults/faulty-compute'
import { simCmlLabs } from '@lcm/cloud-sim/in-process/cml-labs'
import { simCmlSystem } from '@lcm/cloud-sim/in-process/cml-system'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { RandomFaultParts } from '../faults/random-faults.ts'

/** Faults of the connections between LCM and the cloud. */
export interface CloudAccess {
  /** Credentials of another account: responses are complete and show no machine of the fleet. */
  isWrongAccount: boolean
  /** No CML server can be reached. */
  isCmlCut: boolean
  /** CML servers, by machine, that don't serve LCM while their labs run on. */
  readonly silent: Map<string, Silence>
  /** CML servers, by machine, whose labs alone can't be reached. */
  readonly labFaults: Map<string, LabFault>
}

/** Every call is refused with 500, gets no response, or finds no connection. */
export const SILENCES = ['fails', 'hangs', 'cut'] as const
export type Silence = (typeof SILENCES)[number]

/** Every call of a lab is refused with 500, or CML shows no labs. */
export interface LabFault {
  readonly how: 'fails' | 'shows none'
  readonly sinceMs: number
}

export const cloudAccess = (): CloudAccess => ({
  isWrongAccount: false,
  isCmlCut: false,
  silent: new Map(),
  labFaults: new Map(),
})

/** EC2 with lost calls and responses, as the fault plan says. */
export function computeOver(cloud: SimModel, access: CloudAccess): Compute {
  const compute = faultyCompute(simCompute(cloud), cloud)
  return {
    list: async (...args) => (access.isWrongAccount ? [] : compute.list(...args)),
    describe: async (region, ids, signal) =>
      access.isWrongAccount ? { found: [], missing: ids } : compute.describe(region, ids, signal),
    newestImage: (...args) => compute.newestImage(...args),
    imageIds: (...args) => compute.imageIds(...args),
    launch: (...args) => compute.launch(...args),
    power: (...args) => compute.power(...args),
    tag: (...args) => compute.tag(...args),
  }
}

/** CML with random faults. */
export function cmlOver(cloud: SimModel, access: CloudAccess, faultParts: RandomFaultParts): CmlSystem {
  const cml = simCmlSystem(cloud)
  const reaching = withCmlFaults(cloud, access, faultParts)
  return {
    // A probe never rejects.
    probe: (...args) => reaching(cml.probe, PROBE_DEADLINE_MS)(...args).catch(() => REFUSED),
    stats: reaching(cml.stats),
    health: reaching(cml.health),
    nodeDefinitions: reaching(cml.nodeDefinitions),
    licensing: reaching(cml.licensing),
    register: reaching(cml.register),
    deregister: reaching(cml.deregister),
    activity: reaching(cml.activity),
  }
}

/** Labs of CML with random faults. */
export function labsOver(cloud: SimModel, access: CloudAccess, faultParts: RandomFaultParts): CmlLabs {
  const labs = withLabFaults(cloud, access, simCmlLabs(cloud, faultParts.clock))
  const reaching = withCmlFaults(cloud, access, faultParts)
  return {
    list: reaching(labs.list),
    get: reaching(labs.get),
    import: reaching(labs.import),
    start: reaching(labs.start),
    stop: reaching(labs.stop),
    wipe: reaching(labs.wipe),
    delete: reaching(labs.delete),
    isConverged: reaching(labs.isConverged),
    nodes: reaching(labs.nodes),
    extractConfiguration: reaching(labs.extractConfiguration),
    consoleLog: reaching(labs.consoleLog),
    download: reaching(labs.download),
    nodeQuota: reaching(labs.nodeQuota),
  }
}

function withLabFaults(cloud: SimModel, access: CloudAccess, labs: CmlLabs): CmlLabs {
  const faultAt = ({ url }: CmlEndpoint) =>
    access.labFaults.size > 0 ? access.labFaults.get(cloud.cml.reachedAt(url) ?? '') : undefined
  const failing =
    <A extends readonly [CmlEndpoint, ...unknown[]], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (faultAt(args[0])?.how === 'fails') throw broken('HTTP500', 'internal server error')
      return call(...args)
    }
  return {
    list: failing(async (...args) => (faultAt(args[0]) === undefined ? labs.list(...args) : [])),
    get: failing(async (...args) => {
      if (faultAt(args[0]) !== undefined) throw unknownLab()
      return labs.get(...args)
    }),
    import: failing(labs.import),
    start: failing(labs.start),
    stop: failing(labs.stop),
    wipe: failing(labs.wipe),
    delete: failing(labs.delete),
    isConverged: failing(labs.isConverged),
    nodes: failing(labs.nodes),
    extractConfiguration: failing(labs.extractConfiguration),
    consoleLog: failing(labs.consoleLog),
    download: failing(labs.download),
    nodeQuota: failing(labs.nodeQuota),
  }
}

const CML_DELAY_MS_MAX = 10_000
/** Deadlines of the adapter that speaks HTTP. */
const DEADLINE_MS = 15_000
const PROBE_DEADLINE_MS = 3_000

/** A call may be refused or late, and its response may be lost. */
const withCmlFaults =
  (cloud: SimModel, access: CloudAccess, { faults, random, clock }: RandomFaultParts) =>
  <A extends readonly [CmlEndpoint, ...unknown[]], R>(call: (...args: A) => Promise<R>, deadlineMs = DEADLINE_MS) =>
  async (...args: A): Promise<R> => {
    if (access.isCmlCut) throw cut()
    const silence = access.silent.size > 0 ? access.silent.get(cloud.cml.reachedAt(args[0].url) ?? '') : undefined
    if (silence === 'cut') throw cut()
    if (silence === 'fails') throw broken('HTTP500', 'internal server error')
    if (silence === 'hangs') {
      await clock.sleep(deadlineMs, args.find(isSignal))
      throw broken('ETIMEDOUT', `no response within ${deadlineMs / 1000} s`)
    }
    if (faults.cmlRate === 0 || random.float() >= faults.cmlRate) return call(...args)
    faults.injected += 1
    const outcome = random.int(4)
    if (outcome === 0) throw broken('500', 'internal server error')
    if (outcome === 1) await clock.sleep(random.int(CML_DELAY_MS_MAX), args.find(isSignal))
    const answer = await call(...args)
    if (outcome > 1) throw broken('ECONNRESET', 'response lost')
    return answer
  }
const isSignal = (given: unknown): given is AbortSignal => given instanceof AbortSignal

const REFUSED = { stage: 'NOTHING', version: null, certificate_sha256: null, detail: 'connection refused' } as const
const broken = (code: string, message: string) => new CloudError('transient', { code, action: 'CML', message })
const unknownLab = () => new CloudError('not_found', { code: 'HTTP404', action: 'CML', message: 'Lab not found' })
const cut = () => broken('ECONNREFUSED', 'connection refused')
