import { createHash } from 'node:crypto'
import { plantMachines } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import type { LabFault, Silence } from '../world/cloud-ports.ts'
import { PLANTED_TAG } from '../world/planted-secrets.ts'
import type { World } from '../world/world.ts'
import { asAdmin, controlOf, labChangesOf } from './lab-changes.ts'

const REGION = 'us-east-1'
const OTHER_IMAGES = {
  ...{ image_ids: [], owners: ['self'], max_results: null, next_token: null },
  filters: [{ name: 'name', values: ['cml-2.8.1-*'] }],
}

interface Offering {
  readonly zone: string
  readonly type: string
}

/** An attacker who has read an open launch attempt uses its launch token for another machine. */
function useToken({ ec2 }: World['cloud'], attempt: string, { zone, type }: Offering): void {
  const subnet_id = `subnet-use${zone.slice(-2)}`
  const client_token = createHash('sha256').update(`${attempt}|${subnet_id}|${type}`).digest('hex')
  const image_id = ec2.describeImages(REGION, OTHER_IMAGES).items[0]?.image_id ?? ''
  const request = { image_id, instance_type: 'c5.metal', subnet_id, client_token, nested_virtualization: false }
  const tags = { [PLANTED_TAG]: 'by an attacker' }
  ec2.runInstances(REGION, { ...request, count: 1, tags, canonical: 'of an attacker' })
}

/** Manual changes on EC2 and CML servers, unknown to LCM. */
export function manualChangesOf({ cloud, access, worker, noteUse, ownerChanges, sessions }: World) {
  const named = (id: string) => ({ ids: [id] })
  const attributes = { disable_api_termination: null, disable_api_stop: null, instance_type: null }

  async function machineOf(id: string): Promise<string> {
    const { ec2_instance_id: machine } = await worker(id)
    if (machine === null) throw new Error(`${id} has no machine`)
    return machine
  }

  const onCml = controlOf(cloud)

  return {
    machineOf,
    onCml,
    ...labChangesOf({ cloud, ownerChanges, sessions }, onCml),
    stop: (machine: string) => cloud.ec2.stopInstances(REGION, { ...named(machine), force: false }),
    start: (machine: string) => cloud.ec2.startInstances(REGION, named(machine)),
    reboot: (machine: string) => cloud.ec2.rebootInstances(REGION, named(machine)),
    /** From inside the guest, for this many simulated seconds or a usual boot; EC2 shows nothing. */
    rebootInside: (machine: string, downS: number | null) => cloud.incidents.rebootInside(machine, downS),
    /** LCM gets no response from that CML, while its labs run on. */
    silence: (machine: string, how: Silence) => void access.silent.set(machine, how),
    endSilence: (machine: string) => void access.silent.delete(machine),
    /** LCM can't reach the labs of that CML, which itself serves. */
    failLabs: (machine: string, how: LabFault['how']) =>
      void access.labFaults.set(machine, { how, sinceMs: cloud.now() }),
    restoreLabs: (machine: string) => void access.labFaults.delete(machine),
    terminate: (machine: string) => cloud.ec2.terminateInstances(REGION, named(machine)),
    tag: (machine: string, tags: Readonly<Record<string, string>>) =>
      cloud.ec2.createTags(REGION, { ...named(machine), tags }),
    untag: (machine: string, ...keys: readonly string[]) =>
      cloud.ec2.deleteTags(REGION, { ...named(machine), tags: keys.map(key => ({ key, value: null })) }),
    setType: (machine: string, instance_type: string) =>
      cloud.ec2.modifyInstanceAttribute(REGION, { ...attributes, instance_id: machine, instance_type }),
    protect: (machine: string, isProtected: boolean) =>
      cloud.ec2.modifyInstanceAttribute(REGION, {
        ...attributes,
        instance_id: machine,
        disable_api_termination: isProtected,
      }),
    keepRunning: (machine: string, isKept: boolean) =>
      cloud.ec2.modifyInstanceAttribute(REGION, { ...attributes, instance_id: machine, disable_api_stop: isKept }),
    /** A machine that LCM did not launch. */
    plant(tags: Readonly<Record<string, string>>): string {
      plantMachines(cloud, 1, tags)
      return cloud.machines().at(-1)?.instance.instance_id ?? ''
    },
    useToken: (id: string, n: number, place: Offering) => useToken(cloud, `${id}|${n}`, place),
    stateOf: (machine: string): string => cloud.machine(machine)?.state ?? 'gone',
    useServer(machine: string): void {
      onCml(machine, 'POST activity', { username: 'ada' })
      noteUse(machine)
    },
    smartAccountReached: (machine: string, isReached: boolean) =>
      onCml(machine, 'PATCH faults', { license_server: isReached ? 'reached' : 'not_reached' }),
    register: (machine: string) => registerByHand(cloud, machine),
    removeLabs(machine: string): void {
      for (const { id } of cloud.cml.contextOf(machine)?.labs ?? [])
        cloud.cml.act(machine, () => ({ status: 204, body: null, change: { removed_lab_id: id } }))
    },
    /** Licenses that the Smart Account counts, by machine. */
    seats: () => cloud.cml.smartAccount().map(seat => seat.instance_id),
    setCapacity: (zone: string, type: string, available: number | null) =>
      cloud.faults.setCapacity({ availability_zone: zone, instance_type: type }, available),
  }
}

export type ManualChanges = ReturnType<typeof manualChangesOf>

/** Registers a server on its own page, as an administrator would. */
const registerByHand = (cloud: World['cloud'], machine: string): void =>
  asAdmin(cloud, machine, 'POST /licensing/registration', { token: 'by-hand' })
