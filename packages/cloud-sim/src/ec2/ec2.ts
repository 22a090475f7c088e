import type { SimState } from '../sim-state.ts'
import { type ConsoleOutput, consoleOutput } from './console-output.ts'
import {
  describeOfferings,
  describeTypes,
  type OfferingsQuery,
  type TypeOffering,
  type TypesQuery,
} from './describe-instance-types.ts'
import { describeInstances, type InstancesQuery } from './describe-instances.ts'
import { describeStatus, type MachineStatus, type StatusQuery } from './describe-status.ts'
import { describeTags, type ShownTag, type TagsQuery } from './describe-tags.ts'
import type { Page } from './filters-and-paging.ts'
import { describeImages, type ImagesQuery, type SimImage } from './images.ts'
import { beforeNow, type MachineView, type SimInstance, viewOf } from './instance.ts'
import { rebootInstances } from './machine-interruptions.ts'
import { type AttributeChange, modifyAttributes } from './modify-attributes.ts'
import { namedInstances, type StateChange, startInstances, stopInstances, terminateInstances } from './power.ts'
import { describeSubnets, type InstanceType, type Subnet } from './regions-and-instance-types.ts'
import { type RunRequest, runInstances } from './run-instances.ts'
import { checkTags, type Tags, type TagToDelete, withoutTags } from './tags.ts'

/**
 * EC2's behavior, independent of its protocol. Every call takes a region and a request, returns synchronously and
 * throws an Ec2Refusal, so that faults and limits can wrap all calls. Changes are durable when a call returns.
 */
export interface Ec2 {
  runInstances(region: string, request: RunRequest): readonly MachineView[]
  describeInstances(region: string, query: InstancesQuery): Page<MachineView>
  describeInstanceStatus(region: string, query: StatusQuery): Page<MachineStatus>
  startInstances(region: string, request: Named): readonly StateChange[]
  stopInstances(region: string, request: Named & { readonly force: boolean }): readonly StateChange[]
  terminateInstances(region: string, request: Named): readonly StateChange[]
  rebootInstances(region: string, request: Named): void
  modifyInstanceAttribute(region: string, change: AttributeChange): void
  getConsoleOutput(region: string, request: { readonly instance_id: string }): ConsoleOutput | null
  createTags(region: string, request: Named & { readonly tags: Tags }): void
  deleteTags(region: string, request: Named & { readonly tags: readonly TagToDelete[] }): void
  describeTags(region: string, query: TagsQuery): Page<ShownTag>
  describeImages(region: string, query: ImagesQuery): Page<SimImage>
  describeInstanceTypes(region: string, query: TypesQuery): Page<InstanceType>
  describeInstanceTypeOfferings(region: string, query: OfferingsQuery): Page<TypeOffering>
  describeSubnets(region: string, request: { readonly subnet_ids: readonly string[] }): readonly Subnet[]
}

export interface Named {
  readonly ids: readonly string[]
}

export function ec2Of(sim: SimState): Ec2 {
  const view = (instance: SimInstance) => viewOf(instance, sim.now(), sim.addressing)
  return {
    runInstances: (region, request) => runInstances(sim, region, request).map(view),
    describeInstances: (region, query) => describeInstances(sim, region, query),
    describeInstanceStatus: (region, query) => describeStatus(sim, region, query),
    startInstances: (region, { ids }) => startInstances(sim, region, ids),
    stopInstances: (region, request) => stopInstances(sim, region, request),
    terminateInstances: (region, { ids }) => terminateInstances(sim, region, ids),
    rebootInstances: (region, { ids }) => rebootInstances(sim, region, ids),
    modifyInstanceAttribute: (region, change) => modifyAttributes(sim, region, change),
    getConsoleOutput: (region, { instance_id }) => consoleOutput(sim, region, instance_id),
    createTags: (region, { ids, tags }) =>
      retag(sim, namedInstances(sim, region, ids), before => ({ ...before, ...tags })),
    deleteTags: (region, { ids, tags }) =>
      retag(sim, namedInstances(sim, region, ids), before => withoutTags(before, tags)),
    describeTags: (region, query) => describeTags(sim, region, query),
    describeImages: (region, query) => describeImages(region, query),
    describeInstanceTypes: (region, query) => describeTypes(region, query),
    describeInstanceTypeOfferings: (region, query) => describeOfferings(region, query),
    describeSubnets: (region, request) => describeSubnets(region, request.subnet_ids),
  }
}

function retag(sim: SimState, instances: readonly SimInstance[], change: (tags: Tags) => Tags): void {
  const nowMs = sim.now()
  const changed = instances.map(instance => ({
    ...instance,
    ...beforeNow(instance, nowMs),
    tags: change(instance.tags),
  }))
  for (const instance of changed) checkTags(instance.tags)
  sim.commit({ instances: changed })
}
