import type { CmlLogin } from './cml-access.ts'

/**
 * The labs of one CML server. Every call logs in by itself, ends within its adapter's deadline or when `signal` aborts, and
 * every failure is a CloudError: `not_found` for a lab that is not there, `invalid` for a refusal in CML's own words.
 */
export interface CmlLabs {
  /** Labs of everybody, not only our own. */
  list(login: CmlLogin, signal: AbortSignal): Promise<readonly CmlLab[]>
  get(login: CmlLogin, labId: string, signal: AbortSignal): Promise<CmlLab>
  /** Makes a new lab each time: titles are not unique on a server. */
  import(login: CmlLogin, request: LabImport, signal: AbortSignal): Promise<ImportedLab>
  /** These three start the change and return; `isConverged` tells when it is over. Repeating them does no harm. */
  start(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  stop(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  wipe(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  /** Only a lab that is stopped and wiped; one that is gone already is as good. */
  delete(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  isConverged(login: CmlLogin, labId: string, signal: AbortSignal): Promise<boolean>
  nodes(login: CmlLogin, labId: string, signal: AbortSignal): Promise<readonly CmlNode[]>
  /** The topology as YAML, with configurations. */
  download(login: CmlLogin, labId: string, signal: AbortSignal): Promise<string>
  /** How many nodes the licence lets run (null: CML names no limit), and how many do. */
  nodeQuota(login: CmlLogin, signal: AbortSignal): Promise<{ readonly quota: number | null; readonly started: number }>
}

/** What CML did not say is null. */
export interface CmlLab {
  readonly lab_id: string
  readonly title: string
  /** The name that its owner logs in with. */
  readonly owner: string | null
  /** Such as DEFINED_ON_CORE, STARTED, STOPPED; CML's own word. */
  readonly state: string
  readonly node_count: number | null
  readonly link_count: number | null
  readonly created: string | null
  readonly modified: string | null
}

export interface LabImport {
  readonly title: string
  /** CML topology YAML. */
  readonly topology: string
}

export interface ImportedLab {
  readonly lab_id: string
  readonly warnings: readonly string[]
}

export interface CmlNode {
  readonly node_id: string
  readonly label: string
  readonly node_definition: string
  /** Such as DEFINED_ON_CORE, QUEUED, STARTED, BOOTED, STOPPED, DISCONNECTED; CML's own word. */
  readonly state: string
  readonly tags: readonly string[]
}
