import type { TimelineEntry } from '../../state-timeline.ts'

export const NODE_STATES = ['DEFINED_ON_CORE', 'QUEUED', 'STARTED', 'BOOTED', 'STOPPED'] as const
export type NodeState = (typeof NODE_STATES)[number]
export type ElementState = 'DEFINED_ON_CORE' | 'STARTED' | 'STOPPED'

export interface NodeMoment extends TimelineEntry {
  readonly state: NodeState
  /** It stopped with its server, which could not record it. */
  readonly isLost?: boolean
}

export interface ConfigurationFile {
  readonly name: string
  readonly content: string
}

/** What a person typed on a node's console since its disk was last wiped. */
export interface TypedLine {
  readonly at_ms: number
  readonly line: string
}

export interface LabInterface {
  readonly id: string
  readonly label: string
  readonly type: 'physical' | 'loopback'
  readonly slot: number | null
  readonly mac_address: string | null
}

/** Null in the sizes means: as the node definition says. */
export interface LabNode {
  readonly id: string
  readonly label: string
  readonly node_definition: string
  readonly image_definition: string | null
  /** The main one first. */
  readonly files: readonly ConfigurationFile[]
  readonly x: number
  readonly y: number
  readonly ram: number | null
  readonly cpus: number | null
  readonly cpu_limit: number | null
  readonly data_volume: number | null
  readonly boot_disk_size: number | null
  readonly hide_links: boolean
  readonly tags: readonly string[]
  readonly parameters: Readonly<Record<string, unknown>>
  readonly interfaces: readonly LabInterface[]
  /** Its place among all the starts on this server. */
  readonly launch_number: number
  readonly timeline: readonly NodeMoment[]
  readonly typed?: readonly TypedLine[]
}

export interface LabLink {
  readonly id: string
  readonly label: string
  readonly node_a: string
  readonly interface_a: string
  readonly node_b: string
  readonly interface_b: string
  readonly conditioning: Readonly<Record<string, unknown>>
}

/** A lab as it is stored: instants, never current states. */
export interface CmlLab {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly notes: string
  /** The id of a user. */
  readonly owner: string
  readonly created_ms: number
  readonly modified_ms: number
  readonly nodes: readonly LabNode[]
  readonly links: readonly LabLink[]
  readonly annotations: readonly unknown[]
  readonly smart_annotations: readonly unknown[]
  /** Nodes, links and interfaces that were ever made in it, so that ids never come twice. */
  readonly elements_made: number
}
