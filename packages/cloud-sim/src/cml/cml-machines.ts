import type { CmlStage } from '@lcm/domain/worker/boot-stages'
import { imageNamed } from '../ec2/images.ts'
import { type SimInstance, viewOf } from '../ec2/instance.ts'
import { numberOf, samePlace } from '../machine-addresses.ts'
import type { SimState } from '../sim-state.ts'
import type { StateChangeSet } from '../state-codec.ts'
import { answerTo } from './api/dispatch.ts'
import { renewedAuthorization } from './api/licensing-routes.ts'
import { LOGIN_PATHS } from './api/login-routes.ts'
import { systemInformation } from './api/system-routes.ts'
import { type CmlIdentity, selfSigned } from './certificate.ts'
import { type CmlStore, cmlStore } from './cml-store.ts'
import { CML_PRESETS, type CmlFaults } from './faults.ts'
import { hostOf } from './host-hardware.ts'
import { type CmlAnswer, type CmlRequest, refusal } from './http-messages.ts'
import type { CmlLab } from './labs/lab.ts'
import { afterOutage, labsChangeAtMs } from './labs/lab-element-states.ts'
import { productUuid } from './license/licensing-answer.ts'
import type { Seat } from './license/smart-account-seat.ts'
import { loginLimit } from './login-limit.ts'
import { nginxPage } from './nginx-pages.ts'
import { type NodePort, openPorts, portsChangeAtMs } from './node-ports.ts'
import { type CmlServerContext, type Outcome, versionOf } from './server-context.ts'
import { type CmlServer, freshServer } from './server-state.ts'

/**
 * The CML server on each machine. Its state follows from stored timestamps, so it advances even while the simulator is
 * stopped.
 */
export interface CmlMachines {
  /** NOTHING also for a machine that isn't running or doesn't exist. */
  stageOf(instanceId: string): CmlStage
  /** The machine that is reachable at an endpoint now, or null. */
  reachedAt(endpoint: string): string | null
  /** Response of its API, 502 while the API isn't up. Changes are durable when it returns. */
  call(instanceId: string, request: CmlRequest): CmlAnswer
  systemInformation(instanceId: string): ReturnType<typeof systemInformation>
  /** Created and stored at the first call for a machine, then constant until it is replaced. */
  identityOf(instanceId: string): CmlIdentity
  /** Fingerprint for callers without TLS: that of the stored certificate, else one derived from the seed. */
  fingerprintOf(instanceId: string): string
  replaceCertificate(instanceId: string): void
  /** TCP ports that lead to nodes now; empty where machines share one address. */
  nodePorts(instanceId: string): readonly NodePort[]
  /** When the node ports may next change by themselves, or null. */
  nodePortsChangeAtMs(instanceId: string): number | null
  /** When a node or the license next changes by itself, or null. */
  changesAtMs(instanceId: string): number | null
  /** License holders, including deleted machines. */
  smartAccount(): readonly Seat[]
  /** Number of licenses that the Smart Account owns. */
  readonly licensesOwned: number
  /** Faults of the server that differ from the preset. */
  faultChangesOf(instanceId: string): Partial<CmlFaults>
  /** The server at this instant, or null for an unknown machine. */
  contextOf(instanceId: string): CmlServerContext | null
  /** Changes a server without its API. The change is durable when this returns. */
  act(instanceId: string, decide: (context: CmlServerContext) => Outcome): CmlAnswer
}

const SHA256_HEX_CHARS = 64

export function cmlMachinesOf(sim: SimState): CmlMachines {
  const stored = cmlStore(sim)
  const contextOf = contexts(sim, stored)
  const faultChangesOf = (instanceId: string) => stored.server(instanceId)?.fault_changes ?? {}
  const stageOf = (instanceId: string) => {
    const isCut = faultChangesOf(instanceId).network === 'cut'
    const stage = stageIn(sim, instanceId)
    return isCut && stage !== 'NOTHING' ? 'TCP' : stage
  }
  const labsOf = (instanceId: string) => contextOf(instanceId)?.labs ?? []
  const fingerprintOf = (instanceId: string) =>
    sim.identities.get(instanceId)?.sha256 ??
    sim.chance.hex(SHA256_HEX_CHARS, 'certificate', instanceId, replacementsOf(stored, instanceId))
  const act = (instanceId: string, decide: (context: CmlServerContext) => Outcome): CmlAnswer => {
    const context = contextOf(instanceId)
    return context ? settledAnswer(stored, context, decide(context)) : nginxPage(502)
  }
  return {
    stageOf,
    reachedAt: endpoint => reachedAt(sim, endpoint),
    call: caller({ stageOf, contextOf, stored }),
    systemInformation: instanceId => systemInformation(present(contextOf(instanceId), instanceId)),
    identityOf: instanceId => sim.identities.get(instanceId) ?? newIdentity(sim, instanceId),
    fingerprintOf,
    replaceCertificate(instanceId) {
      const server = present(contextOf(instanceId), instanceId).server
      const certificates_replaced = server.certificates_replaced + 1
      act(instanceId, context => ({ status: 204, change: { server: { ...context.server, certificates_replaced } } }))
      if (sim.identities.has(instanceId)) newIdentity(sim, instanceId, { touched: [instanceId] })
    },
    nodePorts: instanceId =>
      isUp(stageOf(instanceId)) && sim.addressing === 'range' ? openPorts(labsOf(instanceId), sim.now()) : [],
    nodePortsChangeAtMs: instanceId => portsChangeAtMs(labsOf(instanceId), sim.now()),
    changesAtMs: instanceId => changesAtMs(contextOf(instanceId)),
    smartAccount: () => stored.seats().filter(seat => seat.from_ms <= sim.now()),
    licensesOwned: sim.licensesOwned,
    faultChangesOf,
    contextOf,
    act,
  }
}

const isUp = (stage: CmlStage): boolean => stage === 'API' || stage === 'READY'

function stageIn(sim: SimState, instanceId: string): CmlStage {
  const instance = sim.instances.get(instanceId)
  return instance ? viewOf(instance, sim.now(), sim.addressing).stage : 'NOTHING'
}

function present(context: CmlServerContext | null, instanceId: string): CmlServerContext {
  if (context) return context
  throw new Error(`there is no machine ${instanceId}`)
}

const replacementsOf = (stored: CmlStore, instanceId: string): number =>
  stored.server(instanceId)?.certificates_replaced ?? 0

interface Machine {
  stageOf(instanceId: string): CmlStage
  contextOf(instanceId: string): CmlServerContext | null
  readonly stored: CmlStore
}

/** Call counts and login limits are in memory, like those of a real web server. */
function caller({ stageOf, contextOf, stored }: Machine): CmlMachines['call'] {
  const calls = new Map<string, number>()
  const logins = loginLimit()
  return (instanceId, request) => {
    const context = isUp(stageOf(instanceId)) ? contextOf(instanceId) : null
    if (!context) return nginxPage(502)
    const { fail_one_in, logins_per_minute } = context.faults
    if (LOGIN_PATHS.includes(request.path) && !logins.admits(instanceId, context.nowMs, logins_per_minute)) {
      return nginxPage(429)
    }
    const count = (calls.get(instanceId) ?? 0) + 1
    calls.set(instanceId, count)
    if (fail_one_in > 0 && count % fail_one_in === 0) return crash(request)
    const renewed = renewedAuthorization(context)
    if (renewed === null) return settledAnswer(stored, context, answerTo(context, request))
    settledAnswer(stored, context, renewed)
    const licensed = contextOf(instanceId) ?? context
    return settledAnswer(stored, licensed, answerTo(licensed, request))
  }
}

const crash = ({ method, path }: CmlRequest): CmlAnswer =>
  refusal(500, `Internal server error in API call ${method} /api/v0${path}. Please report this to support.`)

/** A server with telemetry turned off records no events. */
function settledAnswer(stored: CmlStore, context: CmlServerContext, { change, ...answer }: Outcome): CmlAnswer {
  if (!change) return answer
  const isSilent = (change.server ?? context.server).opt_in === false
  const kept = isSilent ? { ...change, events: [] } : change
  stored.commit(context.instance.instance_id, kept, productUuid(context))
  return answer
}

function contexts(sim: SimState, stored: CmlStore): (instanceId: string) => CmlServerContext | null {
  /** Labs after the last outage, cached while neither has changed. */
  const settled = new WeakMap<CmlLab, { readonly downMs: number; readonly lab: CmlLab }>()
  const settledLab = (lab: CmlLab, downMs: number): CmlLab => {
    const known = settled.get(lab)
    if (known?.downMs === downMs) return known.lab
    const after = afterOutage(lab, downMs)
    settled.set(lab, { downMs, lab: after })
    return after
  }
  return instanceId => {
    const instance = sim.instances.get(instanceId)
    if (!instance) return null
    const nowMs = sim.now()
    const draws = drawsOf(sim, instance)
    const downMs = lastDownMs(instance, nowMs)
    const kept =
      stored.server(instanceId) ?? freshServer(draws.uuid('user', 0), instance.started_at_ms, sim.adminPassword)
    const server = withoutOldSessions(kept, downMs)
    const view = viewOf(instance, nowMs, sim.addressing)
    const labs = server.lab_ids.flatMap(labId => {
      const lab = stored.lab(instanceId, labId)
      return lab ? [settledLab(lab, downMs)] : []
    })
    const preset_faults = CML_PRESETS[sim.faults.state().preset]
    const faults = { ...preset_faults, ...server.fault_changes }
    const version = versionOf(faults.version ?? imageNamed(instance.region, instance.image_id).cml_version)
    return {
      nowMs,
      speed: sim.speed,
      instance,
      address: view.public_ip ?? view.private_ip ?? '',
      host: hostOf(instance.instance_type),
      isBooted: view.stage === 'READY',
      version,
      server,
      faults,
      preset_faults,
      labs,
      isLicenseLeft: () => stored.seats().filter(seat => seat.instance_id !== instanceId).length < sim.licensesOwned,
      telemetry: () => stored.telemetry(instanceId),
      ...draws,
    }
  }
}

/** When the server last went down, either to reboot or permanently; the start of time if never. */
const lastDownMs = ({ boot }: SimInstance, nowMs: number): number =>
  boot.findLast(moment => moment.stage === 'NOTHING' && moment.from_ms <= nowMs)?.from_ms ?? 0

function withoutOldSessions(server: CmlServer, downMs: number): CmlServer {
  const sessions = server.sessions.filter(({ issued_ms }) => issued_ms >= downMs)
  return sessions.length === server.sessions.length ? server : { ...server, sessions }
}

/** Seeds depend on machine numbers, so that the same history gives the same ids. */
function drawsOf({ chance }: SimState, { number }: SimInstance): Pick<CmlServerContext, 'uuid' | 'fraction' | 'hex'> {
  const hex: CmlServerContext['hex'] = (length, ...purpose) => chance.hex(length, 'cml', number, ...purpose)
  return {
    hex,
    fraction: (...purpose) => chance.fraction('cml', number, ...purpose),
    uuid(...purpose) {
      const digits = hex(32, ...purpose)
      const variant = '89ab'.charAt(Number.parseInt(digits.charAt(16), 16) % 4)
      return [
        digits.slice(0, 8),
        digits.slice(8, 12),
        `4${digits.slice(13, 16)}`,
        `${variant}${digits.slice(17, 20)}`,
        digits.slice(20),
      ].join('-')
    },
  }
}

function changesAtMs(context: CmlServerContext | null): number | null {
  if (!context) return null
  const { registration } = context.server.licensing
  const ofLicense = [registration?.ends_ms ?? 0, registration?.authorized_ms ?? 0].filter(at => at > context.nowMs)
  const ofNodes = labsChangeAtMs(context.labs, context.nowMs)
  const all = [...ofLicense, ...(ofNodes === null ? [] : [ofNodes])]
  return all.length === 0 ? null : Math.min(...all)
}

function reachedAt(sim: SimState, endpoint: string): string | null {
  const number = numberOf(endpoint, sim.addressing)
  if (number === null) return null
  for (const instance of sim.instances.values()) {
    if (!samePlace(instance.address_number, number, sim.addressing)) continue
    if (viewOf(instance, sim.now(), sim.addressing).state === 'running') return instance.instance_id
  }
  return null
}

/** Replacing the certificate notifies watchers, so that the HTTPS server loads the new one. */
function newIdentity(sim: SimState, instanceId: string, change: Pick<StateChangeSet, 'touched'> = {}): CmlIdentity {
  const identity = selfSigned(instanceId, sim.instances.get(instanceId)?.started_at_ms ?? sim.now())
  sim.commit({ identity: { instance_id: instanceId, identity }, ...change })
  return identity
}
