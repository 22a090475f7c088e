import type { CmlStage } from '@lcm/domain/worker/boot'
import { numberOf, samePlace } from '../addresses.ts'
import { imageNamed } from '../ec2/images.ts'
import { type SimInstance, viewOf } from '../ec2/instance.ts'
import type { World } from '../world.ts'
import { type CmlIdentity, selfSigned } from './certificate.ts'

/** `GET /system_information` of CML 2.9, field by field. */
export interface SystemInformation {
  readonly version: string
  readonly ready: boolean
  readonly allow_ssh_pubkey_auth: boolean
  readonly oui: string | null
}

/** The CML server on each machine. */
export interface CmlMachines {
  /** NOTHING also for a machine that is not running or not there. */
  stageOf(instanceId: string): CmlStage
  /** Which machine is reached there now, or null. */
  reachedAt(endpoint: string): string | null
  systemInformation(instanceId: string): SystemInformation
  /** Made and stored at the first call for a machine, the same ever after. */
  identityOf(instanceId: string): CmlIdentity
  /** Stands for the certificate where no TLS is spoken: the stored one's, else one that only the seed decides. */
  fingerprintOf(instanceId: string): string
}

const OUI = '52:54:00:00:00:00'
const SHA256_HEX_CHARS = 64

export function cmlMachinesOf(world: World): CmlMachines {
  const stageOf = (instanceId: string): CmlStage => {
    const instance = world.instances.get(instanceId)
    return instance ? viewOf(instance, world.now(), world.addressing).stage : 'NOTHING'
  }
  return {
    stageOf,
    reachedAt: endpoint => reachedAt(world, endpoint),
    systemInformation: instanceId => ({
      version: versionOf(world.instances.get(instanceId)),
      ready: stageOf(instanceId) === 'READY',
      allow_ssh_pubkey_auth: false,
      oui: OUI,
    }),
    identityOf: instanceId => world.identities.get(instanceId) ?? newIdentity(world, instanceId),
    fingerprintOf: instanceId =>
      world.identities.get(instanceId)?.sha256 ?? world.chance.hex(SHA256_HEX_CHARS, 'certificate', instanceId),
  }
}

function reachedAt(world: World, endpoint: string): string | null {
  const number = numberOf(endpoint, world.addressing)
  if (number === null) return null
  for (const instance of world.instances.values()) {
    if (!samePlace(instance.address_number, number, world.addressing)) continue
    if (viewOf(instance, world.now(), world.addressing).state === 'running') return instance.instance_id
  }
  return null
}

const versionOf = (instance: SimInstance | undefined) =>
  instance ? imageNamed(instance.region, instance.image_id).cml_version : ''

function newIdentity(world: World, instanceId: string): CmlIdentity {
  const identity = selfSigned(instanceId, world.instances.get(instanceId)?.started_at_ms ?? world.now())
  world.commit({ identity: { instance_id: instanceId, identity } })
  return identity
}
