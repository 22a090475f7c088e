import type { CmlEndpoint } from '@lcm/cloud/cml-access'
import type { CmlProbe, CmlSystem } from '@lcm/cloud/cml-system'
import { CML_STAGES, type CmlStage } from '@lcm/domain/worker/boot'
import type { SimModel } from '../model.ts'

const IN_THE_WAY: Readonly<Record<CmlStage, string>> = {
  NOTHING: 'connection refused',
  TCP: 'the connection was closed before TLS was up',
  TLS: 'the connection was closed without an answer',
  GATEWAY: 'answered 502',
  API: 'CML is up but not ready to start nodes',
  READY: '',
}

/** The model behind the port, without sockets or timers: for the whole-system simulation. */
export function simCmlSystem(model: SimModel): CmlSystem {
  return {
    async probe(endpoint, signal) {
      if (signal.aborted) return { ...NOTHING_SEEN, detail: 'it was cancelled' }
      const instanceId = model.cml.reachedAt(endpoint.url)
      return instanceId === null ? NOTHING_SEEN : probed(model, instanceId, endpoint)
    },
  }
}

const NOTHING_SEEN: CmlProbe = {
  stage: 'NOTHING',
  version: null,
  certificate_sha256: null,
  detail: IN_THE_WAY.NOTHING,
}

function probed(model: SimModel, instanceId: string, { certificate_sha256: pin }: CmlEndpoint): CmlProbe {
  const stage = model.cml.stageOf(instanceId)
  if (!reaches(stage, 'TLS')) return { ...NOTHING_SEEN, stage, detail: IN_THE_WAY[stage] }
  const certificate_sha256 = model.cml.fingerprintOf(instanceId)
  if (pin !== null && pin !== certificate_sha256) {
    const detail = `the certificate is ${certificate_sha256}, not the pinned ${pin}`
    return { stage: 'TLS', version: null, certificate_sha256, detail }
  }
  const version = reaches(stage, 'API') ? model.cml.systemInformation(instanceId).version : null
  return { stage, version, certificate_sha256, detail: IN_THE_WAY[stage] }
}

const reaches = (stage: CmlStage, wanted: CmlStage) => CML_STAGES.indexOf(stage) >= CML_STAGES.indexOf(wanted)
