import type { CmlLogin } from './cml-login.ts'

/**
 * Labs of one CML server. Every call logs in by itself, ends within its adapter's deadline or when `signal` aborts, and
 * every failure is a CloudError: `not_found` for a missing lab, `invalid` for a rejection with CML's message.
 */
export interface CmlLabs {
  /** Labs of all users. */
  list(login: CmlLogin, signal: AbortSignal): Promise<readonly CmlLab[]>
  get(login: CmlLogin, labId: string, signal: AbortSignal): Promise<CmlLab>
  /** Creates a new lab each time: titles are not unique on a server. */
  import(login: CmlLogin, request: LabImport, signal: AbortSignal): Promise<ImportedLab>
  /** Like `stop` and `wipe`, starts the change and returns; `isConverged` shows when it is complete. Safe to repeat. */
  start(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  stop(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  wipe(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  /** Requires a stopped and wiped lab; succeeds when the lab is already gone. */
  delete(login: CmlLogin, labId: string, signal: AbortSignal): Promise<void>
  isConverged(login: CmlLogin, labId: string, signal: AbortSignal): Promise<boolean>
  nodes(login: CmlLogin, labId: string, signal: AbortSignal): Promise<readonly CmlNode[]>
  /**
   * Copies the running configuration of a node into its lab, so that `download` returns it. May take a minute. `invalid` for a
   * node that has not booted or has nothing to extract. Types on the first serial console of the node.
   */
  extractConfiguration(login: CmlLogin, node: CmlNodePath, signal: AbortSignal): Promise<void>
  /** The last lines that the first serial console of a node showed; `invalid` for a node without one. */
  consoleLog(login: CmlLogin, node: CmlNodePath, signal: AbortSignal): Promise<string>
  /** The topology as YAML, with configurations. */
  download(login: CmlLogin, labId: string, signal: AbortSignal): Promise<string>
  /** Nodes that the license allows to run (null: no limit), and running nodes. */
  nodeQuota(login: CmlLogin, signal: AbortSignal): Promise<{ readonly quota: number | null; readonly started: number }>
}

/** Fields that CML did not report are null. */
export interface CmlLab {
  readonly lab_id: string
  readonly title: string
  /** Login name of the owner. */
  readonly owner: string | null
  /** CML's own term, such as DEFINED_ON_CORE, STARTED, STOPPED. */
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

export interface CmlNodePath {
  readonly lab_id: string
  readonly node_id: string
}

export interface CmlNode {
  readonly node_id: string
  readonly label: string
  readonly node_definition: string
  /** CML's own term, such as DEFINED_ON_CORE, QUEUED, STARTED, BOOTED, STOPPED, DISCONNECTED. */
  readonly state: string
  readonly tags: readonly string[]
}
