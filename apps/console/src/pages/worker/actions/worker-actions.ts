import type { Client } from '@lcm/client/client'
import { isTrusted, needsApproval } from '@lcm/domain/worker/instance-trust'
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
  'approve',
  'repin',
  'edit',
  'remove',
] as const
export type WorkerAction = (typeof WORKER_ACTIONS)[number]

interface ActionText {
  /** Label of the button. */
  readonly label: string
  /** Completes "Could not …", before the worker's name. */
  readonly verb: string
  /** Tooltip: effect of the action. */
  readonly help: string
}

export const ACTION_TEXTS: Readonly<Record<WorkerAction, ActionText>> = {
  start: { label: 'Start', verb: 'start', help: 'Start the machine' },
  stop: { label: 'Stop', verb: 'stop', help: 'Stop the machine; disk and labs are kept' },
  drain: { label: 'Drain…', verb: 'drain', help: 'Let its sessions end, then stop or terminate it' },
  'cancel-drain': { label: 'Cancel drain', verb: 'cancel the drain of', help: 'Accept new sessions again' },
  terminate: { label: 'Terminate…', verb: 'terminate', help: 'Delete machine and disk permanently' },
  retry: { label: 'Retry', verb: 'retry', help: 'Retry the failed step' },
  refresh: { label: 'Refresh', verb: 'refresh', help: 'Check EC2, CML and license now' },
  protect: { label: 'Protect', verb: 'protect', help: 'Block termination and automatic actions' },
  unprotect: { label: 'Remove protection', verb: 'unprotect', help: 'Allow termination and automatic actions' },
  cordon: { label: 'Cordon', verb: 'cordon', help: 'Place no new sessions on it' },
  uncordon: { label: 'Uncordon', verb: 'uncordon', help: 'Allow new sessions again' },
  'idle-on': {
    label: 'Enable idle detection',
    verb: 'enable idle detection of',
    help: 'Allow automatic pauses when idle',
  },
  'idle-off': { label: 'Disable idle detection', verb: 'disable idle detection of', help: 'Never pause it when idle' },
  approve: { label: 'Approve…', verb: 'approve', help: 'Let its machine get passwords, licenses and sessions' },
  repin: { label: 'Pin new certificate…', verb: 'pin the certificate of', help: 'For a CML that was reinstalled' },
  edit: { label: 'Edit name and labels…', verb: 'edit', help: 'Change name and labels' },
  remove: { label: 'Remove record…', verb: 'remove the record of', help: 'Delete the record of this worker' },
}

/** An action of the worker. `disabledReason` is the tooltip of a disabled action; null when it is enabled. */
export interface AvailableAction {
  readonly action: WorkerAction
  readonly disabledReason: string | null
}

/** Termination can't be revoked, and of a terminated worker only the record can be removed. */
export function availableActions(worker: Worker): AvailableAction[] {
  if (worker.status === 'TERMINATED') return [enabled('remove')]
  const isLeaving = worker.desired_status === 'TERMINATED'
  const terminate: AvailableAction = { action: 'terminate', disabledReason: terminateDisabledReason(worker) }
  if (isLeaving) return [terminate, enabled('edit')]
  return [
    ...(needsApproval(worker) ? [enabled('approve')] : []),
    ...intents(worker).map(enabled),
    ...(worker.status === 'FAILED' ? [enabled('retry')] : []),
    enabled('refresh'),
    enabled(worker.cordoned ? 'uncordon' : 'cordon'),
    enabled(worker.protected ? 'unprotect' : 'protect'),
    enabled(worker.idle_detection_enabled ? 'idle-off' : 'idle-on'),
    ...(isTrusted(worker) && worker.cml.certificate_sha256 !== null ? [enabled('repin')] : []),
    enabled('edit'),
    terminate,
  ]
}

const enabled = (action: WorkerAction): AvailableAction => ({ action, disabledReason: null })

/** The first is the main action. */
function intents(worker: Worker): WorkerAction[] {
  if (worker.desired_status !== 'RUNNING') return ['start']
  if (worker.drain !== null) return ['cancel-drain', 'stop']
  return worker.status === 'RUNNING' ? ['stop', 'drain'] : ['stop']
}

function terminateDisabledReason(worker: Worker): string | null {
  if (worker.desired_status === 'TERMINATED') return 'Termination is in progress'
  return worker.protected ? 'The worker is protected: remove the protection first' : null
}

export interface ActionOptions {
  /** Ignore running sessions. */
  readonly force?: boolean
  /** Desired status after the drain. */
  readonly then?: 'STOPPED' | 'TERMINATED'
}

/** Actions without a form. */
export type DirectAction = Exclude<WorkerAction, 'edit' | 'approve' | 'repin'>
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
      // A removed record has no next version: the request is complete when it disappears.
      return client.call('deleteWorker', { params }).then(() => ({ version: worker.version + 1 }))
  }
}
