import type { CmlEndpoint } from '@lcm/cloud/cml-login'
import type { CmlProbe } from '@lcm/cloud/cml-system'
import { CML_STAGES, type CmlStage } from '@lcm/domain/worker/boot-stages'
import type { SimModel } from '../sim-model.ts'

const IN_THE_WAY: Readonly<Record<CmlStage, string>> = {
  NOTHING: 'connection refused',
  TCP: 'the connection was closed before TLS was up',
  TLS: 'the connection was closed without an answer',
  GATEWAY: 'answered 502',
  API: 'CML is up but not ready to start nodes',
  READY: '',
}

const NOTHING_SEEN: CmlProbe = {
  stage: 'NOTHING',
  version: null,
  certificate_sha256: null,
  detail: IN_THE_WAY.NOTHING,
}

/** Boot stage of the server at that endpoint, as one network probe would find it. */
export function probeCml(model: SimModel, endpoint: CmlEndpoint, signal: AbortSignal): CmlProbe {
  if (signal.aborted) return { ...NOTHING_SEEN, detail: 'it was canceled' }
  const instanceId = model.cml.reachedAt(endpoint.url)
  if (instanceId === null) return NOTHING_SEEN
  const stage = stageSeen(model, instanceId)
  if (!reaches(stage, 'TLS')) return { ...NOTHING_SEEN, stage, detail: IN_THE_WAY[stage] }
  const { certificate_sha256: pin } = endpoint
  const certificate_sha256 = model.cml.fingerprintOf(instanceId)
  if (pin !== null && pin !== certificate_sha256) {
    const detail = `the certificate is ${certificate_sha256}, not the pinned ${pin}`
    return { stage: 'TLS', version: null, certificate_sha256, detail }
  }
  const version = reaches(stage, 'API') ? model.cml.systemInformation(instanceId).version : null
  return { stage, version, certificate_sha256, detail: IN_THE_WAY[stage] }
}

/** A server that has booted with a cordoned host reports that it isn't ready. */
function stageSeen(model: SimModel, instanceId: string): CmlStage {
  const stage = model.cml.stageOf(instanceId)
  return stage === 'READY' && !model.cml.systemInformation(instanceId).ready ? 'API' : stage
}

const reaches = (stage: CmlStage, wanted: CmlStage) => CML_STAGES.indexOf(stage) >= CML_STAGES.indexOf(wanted)
