import { createHash } from 'node:crypto'
import { cmlControl } from '@lcm/cloud-sim/cml/cml-control-api'
import { plantMachines } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { CML_LOGIN, PLANTED_TAG } from '../world/planted-secrets.ts'
import type { World } from '../world/world.ts'

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
export function manualChangesOf({ cloud, worker, noteUse }: World) {
  const named = (id: string) => ({ ids: [id] })
  const attributes = { disable_api_termination: null, disable_api_stop: null, instance_type: null }

  async function machineOf(id: string): Promise<string> {
    const { ec2_instance_id: machine } = await worker(id)
    if (machine === null) throw new Error(`${id} has no machine`)
    return machine
  }

  /** `act` as the simulator's control API names it, such as `PATCH faults`. */
  function onCml(machine: string, act: string, body: object = {}): object {
    const [method = '', what = ''] = act.split(' ')
    const url = `/sim/v1/instances/${machine}/cml/${what}`
    const answer = cmlControl(cloud)({ method, url, body: JSON.stringify(body) })
    if (answer === null || answer.status >= 300) throw new Error(`${act}: ${JSON.stringify(answer)}`)
    return answer.body
  }

  return {
    machineOf,
    onCml,
    stop: (machine: string) => cloud.ec2.stopInstances(REGION, { ...named(machine), force: false }),
    start: (machine: string) => cloud.ec2.startInstances(REGION, named(machine)),
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
    stopLab: (machine: string, lab: string) => asAdmin(cloud, machine, `PUT /labs/${lab}/stop`),
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

/** Calls a server as its administrator, such as `PUT /labs/...`. */
function asAdmin(cloud: World['cloud'], machine: string, route: string, json: object = {}): void {
  const call = (route: string, token: string | null, body: object) => {
    const [method = '', path = ''] = route.split(' ')
    return cloud.cml.call(machine, { method, path, query: new URLSearchParams(), token, body: JSON.stringify(body) })
  }
  const session = call('POST /authenticate', null, CML_LOGIN)
  const { status } = call(route, String(session.body), json)
  if (status >= 300) throw new Error(`${route} was answered ${status}`)
}
