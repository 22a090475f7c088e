import type { PowerAction } from '@lcm/cloud/compute'

export type LabAct = 'import' | 'start' | 'stop' | 'wipe' | 'delete'

/** One requested change of the cloud. */
export interface Mutation {
  readonly atMs: number
  readonly by: string
  /** The service of the process that requested it. */
  readonly service: string
  readonly act: 'launch' | PowerAction | 'tag' | 'register' | 'deregister' | `${LabAct} lab`
  readonly machine: string
  readonly worker: string | null
}
