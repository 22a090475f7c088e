import type { CmlStage } from '@lcm/domain/worker/boot'
import { numberOf, samePlace } from '../addresses.ts'
import { imageNamed } from '../ec2/images.ts'
import { type SimInstance, viewOf } from '../ec2/instance.ts'
import type { SimState } from '../sim-state.ts'
import type { StateChangeSet } from '../state-records.ts'
import { LOGIN_PATHS } from './api/auth.ts'
import { answerTo } from './api/dispatch.ts'
import { authorizedAnew } from './api/licensing.ts'
import { systemInformation } from './api/system.ts'
import { type CmlIdentity, selfSigned } from './certificate.ts'
import { type CmlStore, cmlStore } from './cml-store.ts'
import { CML_PRESETS, type CmlFaults } from './faults.ts'
import { hostOf } from './hosts.ts'
import { type CmlAnswer, type CmlRequest, refusal } from './http-messages.ts'
import type { CmlLab } from './labs/lab.ts'
import { afterOutage, labsChangeAtMs } from './labs/node-lifecycle.ts'
import type { Seat } from './license/smart-account.ts'
import { productUuid } from './license/status.ts'
import { loginLimit } from './login-limit.ts'
import { nginxPage } from './nginx-pages.ts'
import { type NodePort, openPorts, portsChangeAtMs } from './node-ports.ts'
import { type CmlServer, freshServer } from './server.ts'
import { type CmlServerContext, type Outcome, versionOf } from './server-context.ts'

/** The CML server on each machine. What it is now follows from stored instants: it goes on while nothing runs. */
export interface CmlMachines {
  /** NOTHING also for a machine that is not running or not there. */
  stageOf(instanceId: string): CmlStage
  /** Machine that is reachable there now, or null. */
  reachedAt(endpoint: string): string | null
  /** Response of its API. All changes are durable by then. 502 while the API is not up. */
  call(instanceId: string, request: CmlRequest): CmlAnswer
  systemInformation(instanceId: string): ReturnType<typeof systemInformation>
  /** Made and stored at the first call for a machine, the same until it is replaced. */
  identityOf(instanceId: string): CmlIdentity
  /** Stands for the certificate where no TLS is spoken: the stored one's, else one that only the seed decides. */
  fingerprintOf(instanceId: string): string
  replaceCertificate(instanceId: string): void
  /** TCP ports that lead to nodes now; none where machines share one address. */
  nodePorts(instanceId: string): readonly NodePort[]
  /** When those may next be others by themselves, or null. */
  nodePortsChangeAtMs(instanceId: string): number | null
  /** When any of its nodes or its license next changes by itself, or null. */
  changesAtMs(instanceId: string): number | null
  /** Holders of licenses, also machines that are long gone. */
  smartAccount(): readonly Seat[]
  /** Number of licenses that the Smart Account owns. */
  readonly licensesOwned: number
  /** Faults of the server that differ from the preset. */
  faultChangesOf(instanceId: string): Partial<CmlFaults>
  /** The server at this instant, or null when the machine is not there. */
  sceneOf(instanceId: string): CmlServerContext | null
  /** Does something on a server behind its API's back, durable when it returns. */
  act(instanceId: string, decide: (scene: CmlServerContext) => Outcome): CmlAnswer
}

const SHA256_HEX_CHARS = 64

export function cmlMachinesOf(world: SimState): CmlMachines {
  const stored = cmlStore(world)
  const sceneOf = scenes(world, stored)
  const faultChangesOf = (instanceId: string) => stored.server(instanceId)?.fault_changes ?? {}
  const stageOf = (instanceId: string) => {
    const isCut = faultChangesOf(instanceId).network === 'cut'
    const stage = stageIn(world, instanceId)
    return isCut && stage !== 'NOTHING' ? 'TCP' : stage
  }
  const labsOf = (instanceId: string) => sceneOf(instanceId)?.labs ?? []
  const fingerprintOf = (instanceId: string) =>
    world.identities.get(instanceId)?.sha256 ??
    world.chance.hex(SHA256_HEX_CHARS, 'certificate', instanceId, replacementsOf(stored, instanceId))
  const act = (instanceId: string, decide: (scene: CmlServerContext) => Outcome): CmlAnswer => {
    const scene = sceneOf(instanceId)
    return scene ? settledAnswer(stored, scene, decide(scene)) : nginxPage(502)
  }
  return {
    stageOf,
    reachedAt: endpoint => reachedAt(world, endpoint),
    call: caller({ stageOf, sceneOf, stored }),
    systemInformation: instanceId => systemInformation(present(sceneOf(instanceId), instanceId)),
    identityOf: instanceId => world.identities.get(instanceId) ?? newIdentity(world, instanceId),
    fingerprintOf,
    replaceCertificate(instanceId) {
      const server = present(sceneOf(instanceId), instanceId).server
      const certificates_replaced = server.certificates_replaced + 1
      act(instanceId, scene => ({ status: 204, change: { server: { ...scene.server, certificates_replaced } } }))
      if (world.identities.has(instanceId)) newIdentity(world, instanceId, { touched: [instanceId] })
    },
    nodePorts: instanceId =>
      isUp(stageOf(instanceId)) && world.addressing === 'range' ? openPorts(labsOf(instanceId), world.now()) : [],
    nodePortsChangeAtMs: instanceId => portsChangeAtMs(labsOf(instanceId), world.now()),
    changesAtMs: instanceId => changesAtMs(sceneOf(instanceId)),
    smartAccount: () => stored.seats().filter(seat => seat.from_ms <= world.now()),
    licensesOwned: world.licensesOwned,
    faultChangesOf,
    sceneOf,
    act,
  }
}

const isUp = (stage: CmlStage): boolean => stage === 'API' || stage === 'READY'

function stageIn(world: SimState, instanceId: string): CmlStage {
  const instance = world.instances.get(instanceId)
  return instance ? viewOf(instance, world.now(), world.addressing).stage : 'NOTHING'
}

function present(scene: CmlServerContext | null, instanceId: string): CmlServerContext {
  if (scene) return scene
  throw new Error(`there is no machine ${instanceId}`)
}

const replacementsOf = (stored: CmlStore, instanceId: string): number =>
  stored.server(instanceId)?.certificates_replaced ?? 0

interface Machine {
  stageOf(instanceId: string): CmlStage
  sceneOf(instanceId: string): CmlServerContext | null
  readonly stored: CmlStore
}

/** Calls are counted and logins limited as a web server does it: only for as long as the process runs. */
function caller({ stageOf, sceneOf, stored }: Machine): CmlMachines['call'] {
  const calls = new Map<string, number>()
  const logins = loginLimit()
  return (instanceId, request) => {
    const scene = isUp(stageOf(instanceId)) ? sceneOf(instanceId) : null
    if (!scene) return nginxPage(502)
    const { fail_one_in, logins_per_minute } = scene.faults
    if (LOGIN_PATHS.includes(request.path) && !logins.admits(instanceId, scene.nowMs, logins_per_minute)) {
      return nginxPage(429)
    }
    const count = (calls.get(instanceId) ?? 0) + 1
    calls.set(instanceId, count)
    if (fail_one_in > 0 && count % fail_one_in === 0) return crash(request)
    const anew = authorizedAnew(scene)
    if (anew === null) return settledAnswer(stored, scene, answerTo(scene, request))
    settledAnswer(stored, scene, anew)
    const licensed = sceneOf(instanceId) ?? scene
    return settledAnswer(stored, licensed, answerTo(licensed, request))
  }
}

const crash = ({ method, path }: CmlRequest): CmlAnswer =>
  refusal(500, `Internal server error in API call ${method} /api/v0${path}. Please report this to support.`)

/** Nothing is collected from a server whose owners want no telemetry. */
function settledAnswer(stored: CmlStore, scene: CmlServerContext, { change, ...answer }: Outcome): CmlAnswer {
  if (!change) return answer
  const isSilent = (change.server ?? scene.server).opt_in === false
  const kept = isSilent ? { ...change, events: [] } : change
  stored.commit(scene.instance.instance_id, kept, productUuid(scene))
  return answer
}

function scenes(world: SimState, stored: CmlStore): (instanceId: string) => CmlServerContext | null {
  /** Labs as they are after the last outage, kept while neither has changed. */
  const settled = new WeakMap<CmlLab, { readonly downMs: number; readonly lab: CmlLab }>()
  const settledLab = (lab: CmlLab, downMs: number): CmlLab => {
    const known = settled.get(lab)
    if (known?.downMs === downMs) return known.lab
    const after = afterOutage(lab, downMs)
    settled.set(lab, { downMs, lab: after })
    return after
  }
  return instanceId => {
    const instance = world.instances.get(instanceId)
    if (!instance) return null
    const nowMs = world.now()
    const draws = drawsOf(world, instance)
    const downMs = lastDownMs(instance, nowMs)
    const kept =
      stored.server(instanceId) ?? freshServer(draws.uuid('user', 0), instance.started_at_ms, world.adminPassword)
    const server = withoutOldSessions(kept, downMs)
    const view = viewOf(instance, nowMs, world.addressing)
    const labs = server.lab_ids.flatMap(labId => {
      const lab = stored.lab(instanceId, labId)
      return lab ? [settledLab(lab, downMs)] : []
    })
    const preset_faults = CML_PRESETS[world.faults.state().preset]
    const faults = { ...preset_faults, ...server.fault_changes }
    const version = versionOf(faults.version ?? imageNamed(instance.region, instance.image_id).cml_version)
    return {
      nowMs,
      speed: world.speed,
      instance,
      address: view.public_ip ?? view.private_ip ?? '',
      host: hostOf(instance.instance_type),
      isBooted: view.stage === 'READY',
      version,
      server,
      faults,
      preset_faults,
      labs,
      isLicenseLeft: () => stored.seats().filter(seat => seat.instance_id !== instanceId).length < world.licensesOwned,
      telemetry: () => stored.telemetry(instanceId),
      ...draws,
    }
  }
}

/** When the server last went down, be it for good or to boot again; the start of time when it never did. */
const lastDownMs = ({ boot }: SimInstance, nowMs: number): number =>
  boot.findLast(moment => moment.stage === 'NOTHING' && moment.from_ms <= nowMs)?.from_ms ?? 0

function withoutOldSessions(server: CmlServer, downMs: number): CmlServer {
  const sessions = server.sessions.filter(({ issued_ms }) => issued_ms >= downMs)
  return sessions.length === server.sessions.length ? server : { ...server, sessions }
}

/** Machines are told apart by their numbers, so that the same history gives the same ids. */
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

function changesAtMs(scene: CmlServerContext | null): number | null {
  if (!scene) return null
  const { registration } = scene.server.licensing
  const ofLicense = [registration?.ends_ms ?? 0, registration?.authorized_ms ?? 0].filter(at => at > scene.nowMs)
  const ofNodes = labsChangeAtMs(scene.labs, scene.nowMs)
  const all = [...ofLicense, ...(ofNodes === null ? [] : [ofNodes])]
  return all.length === 0 ? null : Math.min(...all)
}

function reachedAt(world: SimState, endpoint: string): string | null {
  const number = numberOf(endpoint, world.addressing)
  if (number === null) return null
  for (const instance of world.instances.values()) {
    if (!samePlace(instance.address_number, number, world.addressing)) continue
    if (viewOf(instance, world.now(), world.addressing).state === 'running') return instance.instance_id
  }
  return null
}

/** A replaced one is told of as a change, so that whoever serves the old one takes the new one. */
function newIdentity(world: SimState, instanceId: string, change: Pick<StateChangeSet, 'touched'> = {}): CmlIdentity {
  const identity = selfSigned(instanceId, world.instances.get(instanceId)?.started_at_ms ?? world.now())
  world.commit({ identity: { instance_id: instanceId, identity }, ...change })
  return identity
}
