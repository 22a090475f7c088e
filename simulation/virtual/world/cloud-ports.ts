import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { faultyCompute } from '@lcm/cloud-sim/faults/faulty-compute'
import { simCmlLabs } from '@lcm/cloud-sim/in-process/cml-labs'
import { simCmlSystem } from '@lcm/cloud-sim/in-process/cml-system'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import type { SimModel } from '@lcm/cloud-sim/model'
import type { RandomFaultParts } from '../faults/random-faults.ts'

/** What can be done to the ways between LCM and the cloud. */
export interface CloudAccess {
  /** Our credentials lead into another account: answers are complete and show none of our machines. */
  isWrongAccount: boolean
  /** No CML server can be reached. */
  isCmlCut: boolean
}

export const cloudAccess = (): CloudAccess => ({ isWrongAccount: false, isCmlCut: false })

/** EC2 as a controller meets it, with calls and answers lost as the fault plan says. */
export function computeOver(cloud: SimModel, ways: CloudAccess): Compute {
  const compute = faultyCompute(simCompute(cloud), cloud)
  return {
    list: async (...asked) => (ways.isWrongAccount ? [] : compute.list(...asked)),
    describe: async (region, ids, signal) =>
      ways.isWrongAccount ? { found: [], missing: ids } : compute.describe(region, ids, signal),
    newestImage: (...asked) => compute.newestImage(...asked),
    imageIds: (...asked) => compute.imageIds(...asked),
    launch: (...asked) => compute.launch(...asked),
    power: (...asked) => compute.power(...asked),
    tag: (...asked) => compute.tag(...asked),
  }
}

/** CML as a controller meets it. */
export function cmlOver(cloud: SimModel, ways: CloudAccess, troubles: RandomFaultParts): CmlSystem {
  const cml = simCmlSystem(cloud)
  const reaching = overWays(ways, troubles)
  return {
    // It never rejects.
    probe: (...asked) => reaching(cml.probe)(...asked).catch(() => NOBODY),
    stats: reaching(cml.stats),
    health: reaching(cml.health),
    nodeDefinitions: reaching(cml.nodeDefinitions),
    licensing: reaching(cml.licensing),
    register: reaching(cml.register),
    deregister: reaching(cml.deregister),
    activity: reaching(cml.activity),
  }
}

/** Labs as a controller meets them. */
export function labsOver(cloud: SimModel, ways: CloudAccess, troubles: RandomFaultParts): CmlLabs {
  const labs = simCmlLabs(cloud)
  const reaching = overWays(ways, troubles)
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
    download: reaching(labs.download),
    nodeQuota: reaching(labs.nodeQuota),
  }
}

const CML_DELAY_MS_MAX = 10_000

/** A call may be refused or late on its way there, and its answer may be lost on its way back. */
const overWays =
  (ways: CloudAccess, { trouble, random, clock }: RandomFaultParts) =>
  <A extends readonly unknown[], R>(call: (...asked: A) => Promise<R>) =>
  async (...asked: A): Promise<R> => {
    if (ways.isCmlCut) throw cut()
    if (trouble.cmlRate === 0 || random.float() >= trouble.cmlRate) return call(...asked)
    trouble.struck += 1
    const fate = random.int(4)
    if (fate === 0) throw broken('500', 'internal server error')
    if (fate === 1) await clock.sleep(random.int(CML_DELAY_MS_MAX), asked.find(isSignal))
    const answer = await call(...asked)
    if (fate > 1) throw broken('ECONNRESET', 'the answer was lost on its way')
    return answer
  }
const isSignal = (given: unknown): given is AbortSignal => given instanceof AbortSignal

const NOBODY = { stage: 'NOTHING', version: null, certificate_sha256: null, detail: 'connection refused' } as const
const broken = (code: string, message: string) => new CloudError('transient', { code, action: 'CML', message })
const cut = () => broken('ECONNREFUSED', 'connection refused')
