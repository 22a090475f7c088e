import type { Client } from '@lcm/client/client'
import type { Worker } from '@lcm/domain/worker/worker'

export const WORKER_ACTIONS = [
  'start',
  'stop',
  'drain',
  'cancel-drain',
  'terminate',
  'retry',
  'refresh',
  'protect',
  'unprotect',
  'cordon',
  'uncordon',
  'idle-on',
  'idle-off',
  'repin',
  'edit',
  'remove',
] as const
export type WorkerAction = (typeof WORKER_ACTIONS)[number]

interface ActionText {
  /** On the button. */
  readonly label: string
  /** Completes "Could not …", before the worker's name. */
  readonly verb: string
  /** What it means, for those who hesitate. */
  readonly help: string
}

export const ACTION_TEXTS: Readonly<Record<WorkerAction, ActionText>> = {
  start: { label: 'Start', verb: 'start', help: 'Wants it running' },
  stop: { label: 'Stop', verb: 'stop', help: 'Its disk and labs stay' },
  drain: { label: 'Drain…', verb: 'drain', help: 'Lets its sessions end first' },
  'cancel-drain': { label: 'Cancel drain', verb: 'cancel the drain of', help: 'Opens the door to sessions again' },
  terminate: { label: 'Terminate…', verb: 'terminate', help: 'Destroys machine and disk' },
  retry: { label: 'Retry', verb: 'retry', help: 'Tries again what failed' },
  refresh: { label: 'Refresh', verb: 'refresh', help: 'Looks at EC2, CML and license anew' },
  protect: { label: 'Protect', verb: 'protect', help: 'Refuses termination and automation' },
  unprotect: { label: 'Remove protection', verb: 'unprotect', help: 'Allows termination and automation' },
  cordon: { label: 'Cordon', verb: 'cordon', help: 'Nothing new is placed on it' },
  uncordon: { label: 'Uncordon', verb: 'uncordon', help: 'Sessions may be placed on it again' },
  'idle-on': { label: 'Watch for idleness', verb: 'watch', help: 'It may be paused when nobody uses it' },
  'idle-off': { label: 'Ignore idleness', verb: 'stop watching', help: 'It is not paused when nobody uses it' },
  repin: { label: 'Forget certificate', verb: 'forget the certificate of', help: 'For a CML that was set up anew' },
  edit: { label: 'Name and labels…', verb: 'change', help: 'Names and groups it' },
  remove: { label: 'Remove record…', verb: 'remove the record of', help: 'Forgets that it ever was' },
}

/** What an operator may ask of a worker now. `disabledReason` says why something that belongs there can't be asked; null when it can. */
export interface AvailableAction {
  readonly action: WorkerAction
  readonly disabledReason: string | null
}

/** A worker wanted TERMINATED can't be wanted otherwise any more, and one that is gone can only be forgotten. */
export function availableActions(worker: Worker): AvailableAction[] {
  if (worker.status === 'TERMINATED') return [enabled('remove')]
  const isLeaving = worker.desired_status === 'TERMINATED'
  const terminate: AvailableAction = { action: 'terminate', disabledReason: terminateDisabledReason(worker) }
  if (isLeaving) return [terminate, enabled('edit')]
  return [
    ...intents(worker).map(enabled),
    ...(worker.status === 'FAILED' ? [enabled('retry')] : []),
    enabled('refresh'),
    enabled(worker.cordoned ? 'uncordon' : 'cordon'),
    enabled(worker.protected ? 'unprotect' : 'protect'),
    enabled(worker.idle_detection_enabled ? 'idle-off' : 'idle-on'),
    ...(worker.cml.certificate_sha256 === null ? [] : [enabled('repin')]),
    enabled('edit'),
    terminate,
  ]
}

const enabled = (action: WorkerAction): AvailableAction => ({ action, disabledReason: null })

/** The first is what people want most often. */
function intents(worker: Worker): WorkerAction[] {
  if (worker.desired_status !== 'RUNNING') return ['start']
  if (worker.drain !== null) return ['cancel-drain', 'stop']
  return worker.status === 'RUNNING' ? ['stop', 'drain'] : ['stop']
}

function terminateDisabledReason(worker: Worker): string | null {
  if (worker.desired_status === 'TERMINATED') return 'It is on its way out'
  return worker.protected ? 'It is protected: remove the protection first' : null
}

export interface ActionOptions {
  /** Also when sessions live on it. */
  readonly force?: boolean
  /** What follows a drain. */
  readonly then?: 'STOPPED' | 'TERMINATED'
}

/** Those that need nothing but the worker. */
export type DirectAction = Exclude<WorkerAction, 'edit'>
type Promised = Promise<{ readonly version: number }>

export function sendAction(
  client: Client,
  worker: Worker,
  action: DirectAction,
  options: ActionOptions = {},
): Promised {
  const { id } = worker
  const params = { id }
  const patch = (body: object): Promised => client.call('patchWorker', { params, body })
  const { force = false, then: next = 'STOPPED' } = options
  switch (action) {
    case 'start':
      return client.call('startWorker', { params, body: {} })
    case 'stop':
      return client.call('stopWorker', { params, body: { force } })
    case 'terminate':
      return client.call('terminateWorker', { params, body: { force } })
    case 'drain':
      // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
      return client.call('drainWorker', { params, body: { then: next } })
    case 'cancel-drain':
      return client.call('cancelDrainWorker', { params, body: {} })
    case 'retry':
    case 'refresh':
    case 'repin':
      return client.call(`${action}Worker`, { params, body: {} })
    case 'protect':
    case 'unprotect':
      return patch({ protected: action === 'protect' })
    case 'cordon':
    case 'uncordon':
      return patch({ cordoned: action === 'cordon' })
    case 'idle-on':
    case 'idle-off':
      return patch({ idle_detection_enabled: action === 'idle-on' })
    case 'remove':
      // What is removed has no next version: the ask is over when the record has gone.
      return client.call('deleteWorker', { params }).then(() => ({ version: worker.version + 1 }))
  }
}
