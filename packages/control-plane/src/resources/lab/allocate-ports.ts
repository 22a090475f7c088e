import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { allocatePorts as allocated } from '@lcm/domain/lab/ports'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { changeLab, type LabRequest } from './change-lab.ts'
import { isLabGone } from './is-lab-usable.ts'
import { findLab } from './queries.ts'

type PortsRequest = LabRequest<BodyOf<'allocatePorts'>>

/** One compare-and-set on the worker's ports, then the copy in the lab. The same lab gets the same ports. */
export async function allocatePorts(api: Api, request: PortsRequest): Promise<AnswerOf<'allocatePorts'>> {
  const lab = await findLab(api, request.params.id)
  raiseDocumentFence(lab, request)
  if (isLabGone(lab)) throw new ProblemError('lab_gone', `${lab.title} is ${lab.status}`)
  const definition = lab.definition_id === null ? null : await api.definitions.get(lab.definition_id)
  const requested = definition?.port_template ?? []
  const writer = { ...request, params: { id: lab.worker_id }, ifMatch: null, once: null }
  let ports: Record<string, number> = {}
  await changeWorker(api, writer, worker => {
    const held = worker.ports[lab.id] ?? {}
    const given = allocated(requested, held, usedPorts(worker, request.body.taken))
    if (given === null) throw new ProblemError('no_capacity', `${worker.name} has no ${requested.length} ports left`)
    ports = given
    if (JSON.stringify(given) === JSON.stringify(held)) return null
    return {
      worker: { ...worker, ports: { ...worker.ports, [lab.id]: given }, fence: raiseDocumentFence(worker, request) },
    }
  })
  await changeLab(api, { ...request, ifMatch: null }, current =>
    JSON.stringify(current.ports) === JSON.stringify(ports)
      ? null
      : { lab: { ...current, ports, fence: raiseDocumentFence(current, request) } },
  )
  return { ports }
}

/** Ports of all labs on record, its own included, and of unknown labs. */
const usedPorts = ({ ports }: Worker, others: readonly number[]): ReadonlySet<number> =>
  new Set([...others, ...Object.values(ports).flatMap(each => Object.values(each))])
