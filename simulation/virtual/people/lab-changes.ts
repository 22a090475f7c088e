import { cmlControl } from '@lcm/cloud-sim/cml/cml-control-api'
import { isUp, moved } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import { withNodes } from '@lcm/cloud-sim/cml/labs/launch-queue'
import { CML_LOGIN } from '../world/planted-secrets.ts'
import type { World } from '../world/world.ts'

type Cloud = World['cloud']

/** `act` as the simulator's control API names it, such as `PATCH faults`. */
export type OnCml = (machine: string, act: string, body?: object) => object

export const controlOf =
  (cloud: Cloud): OnCml =>
  (machine, act, body = {}) => {
    const [method = '', what = ''] = act.split(' ')
    const url = `/sim/v1/instances/${machine}/cml/${what}`
    const answer = cmlControl(cloud)({ method, url, body: JSON.stringify(body) })
    if (answer === null || answer.status >= 300) throw new Error(`${act}: ${JSON.stringify(answer)}`)
    return answer.body
  }

/** Longer than the interval between two samples of a CML server. */
const SAMPLED_MS = 2 * 60_000

/** Changes that the owner of a lab makes on its CML server. */
export function labChangesOf(
  { cloud, ownerChanges, sessions }: Pick<World, 'cloud' | 'ownerChanges' | 'sessions'>,
  onCml: OnCml,
) {
  const nodesOf = (machine: string, lab: string) =>
    cloud.cml.contextOf(machine)?.labs.find(({ id }) => id === lab)?.nodes ?? []

  function nodeOf(machine: string, lab: string, share: number) {
    const nodes = nodesOf(machine, lab)
    const node = nodes[Math.floor(share * nodes.length)]
    if (node === undefined) throw new Error(`the lab ${lab} has no nodes`)
    return node
  }

  const isStopped = (machine: string, lab: string): boolean =>
    nodesOf(machine, lab).every(({ timeline }) => !isUp(timeline.at(-1)?.state ?? 'STOPPED'))

  /** While LCM itself is starting a lab, it can't know that its owner stopped it. */
  function noteStop(lab: string, { isSeen = true, isFromInside = false } = {}): void {
    const session = sessions.sessions.get(sessions.existingLabs().find(each => each.lab === lab)?.session ?? '')
    const steps = Object.values(session?.pipeline?.steps ?? {})
    const isUp = session?.status === 'READY' || session?.status === 'RUNNING'
    const isKnown = isSeen && isUp && steps.every(({ status }) => status === 'completed' || status === 'skipped')
    ownerChanges.stops.set(lab, { atMs: cloud.now(), isKnown, isFromInside })
  }

  function noteStart(lab: string): void {
    ownerChanges.stops.delete(lab)
    ownerChanges.startedMs.set(lab, cloud.now())
  }

  return {
    /** The owner requests a start from LCM, which may or may not arrive. */
    doubtStop(session: string): void {
      for (const { lab } of sessions.existingLabs().filter(each => each.session === session)) {
        const stop = ownerChanges.stops.get(lab)
        if (stop !== undefined) ownerChanges.stops.set(lab, { ...stop, isKnown: false })
      }
    },
    stopLab(machine: string, lab: string): void {
      asAdmin(cloud, machine, `PUT /labs/${lab}/stop`)
      noteStop(lab)
    },
    startLab(machine: string, lab: string): void {
      noteStart(lab)
      asAdmin(cloud, machine, `PUT /labs/${lab}/start`)
    },
    /** Stops or starts one node. The owner stopped the whole lab when no other node runs. */
    setNode(machine: string, lab: string, share: number, state: 'start' | 'stop'): void {
      asAdmin(cloud, machine, `PUT /labs/${lab}/nodes/${nodeOf(machine, lab, share).id}/state/${state}`)
      if (!isStopped(machine, lab)) noteStart(lab)
      else if (!ownerChanges.stops.has(lab)) noteStop(lab)
    },
    /** One node shuts itself down, or crashes. */
    endNode(machine: string, id: string, share: number): void {
      const ended = nodeOf(machine, id, share)
      const others = nodesOf(machine, id).filter(({ id }) => id !== ended.id)
      // Nodes that all end between two samples look like nodes of a machine that was rebooted.
      const isSeen = others.every(({ timeline }) => cloud.now() - (timeline.at(-1)?.from_ms ?? 0) > SAMPLED_MS)
      endFromInside(cloud, machine, { lab: id, node: ended.id })
      if (isStopped(machine, id) && !ownerChanges.stops.has(id)) noteStop(id, { isSeen, isFromInside: true })
    },
    /** Types a line on the console of a node. */
    type: (machine: string, lab: string, share: number, line: string) =>
      onCml(machine, 'POST type', { lab_id: lab, node: nodeOf(machine, lab, share).label, line }),
  }
}

/** As its own operating system, or its crash: CML records no request to stop it. */
function endFromInside(cloud: Cloud, machine: string, ended: { readonly lab: string; readonly node: string }): void {
  cloud.cml.act(machine, ({ labs, nowMs }) => {
    const stopped = labs
      .filter(({ id }) => id === ended.lab)
      .map(lab =>
        withNodes(lab, node =>
          node.id === ended.node ? moved(node, nowMs, [{ state: 'STOPPED', from_ms: nowMs, isLost: true }]) : node,
        ),
      )
    return { status: 204, body: null, change: { labs: stopped } }
  })
}

/** Calls a server as its administrator, such as `PUT /labs/...`. */
export function asAdmin(cloud: Cloud, machine: string, route: string, json: object = {}): void {
  const call = (route: string, token: string | null, body: object) => {
    const [method = '', path = ''] = route.split(' ')
    return cloud.cml.call(machine, { method, path, query: new URLSearchParams(), token, body: JSON.stringify(body) })
  }
  const session = call('POST /authenticate', null, CML_LOGIN)
  const { status } = call(route, String(session.body), json)
  if (status >= 300) throw new Error(`${route} was answered ${status}`)
}
