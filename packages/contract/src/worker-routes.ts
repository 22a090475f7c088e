import type { z } from 'zod'
import { ActionReason, DecisionList, TimePage } from './common-schemas.ts'
import type { ProblemCode } from './problem-codes.ts'
import { EVERYONE, OPERATORS, type RouteSpec } from './route-spec.ts'
import {
  ApproveWorker,
  CreateWorker,
  DrainWorker,
  MetricsList,
  PatchWorker,
  PowerRequest,
  PutCredentials,
  PutLicense,
  RepinWorker,
  WorkerActivity,
  WorkerHistory,
  WorkerList,
  WorkerQuery,
  WorkerView,
} from './worker.ts'

const NARROW_WORKER =
  'Users and authors get a narrow view: without launch, machine, addresses, tags, certificate, license server and events of ' +
  'telemetry, which are null or empty, and with reasons that name none of them.'
const NARROW_REASONS = 'Users and authors get reasons that name no infrastructure'

export const WORKER_ID = { id: { description: 'The id of the worker.', example: 'w-5k1r2m3n8pq4t' } } as const

interface Texts {
  readonly summary: string
  readonly description: string
}

const action = <B extends z.ZodType>(verb: string, texts: Texts, body: B, problems: readonly ProblemCode[] = []) =>
  ({
    method: 'POST',
    path: `/workers/{id}/${verb}`,
    params: WORKER_ID,
    ...texts,
    access: OPERATORS,
    body,
    status: 202,
    answer: WorkerView,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', ...problems],
  }) as const satisfies RouteSpec

const pastOf = <A extends z.ZodType>(part: string, texts: Texts, answer: A) =>
  ({
    method: 'GET',
    path: `/workers/{id}/${part}`,
    params: WORKER_ID,
    ...texts,
    access: EVERYONE,
    query: TimePage,
    status: 200,
    answer,
    problems: ['not_found'],
  }) as const satisfies RouteSpec

const WORKER_ACTIONS = {
  startWorker: action(
    'start',
    {
      summary: 'Start a worker',
      description: 'Requests status RUNNING. The worker-controller starts or launches the machine.',
    },
    PowerRequest,
    ['worker_terminating'],
  ),
  stopWorker: action(
    'stop',
    { summary: 'Stop a worker', description: 'Requests status STOPPED. The disk of the machine is kept.' },
    PowerRequest,
    ['worker_terminating', 'worker_has_sessions'],
  ),
  terminateWorker: action(
    'terminate',
    {
      summary: 'Terminate a worker permanently',
      description: 'Requests status TERMINATED. The license is returned, and the machine and its disk are deleted.',
    },
    PowerRequest,
    ['worker_protected', 'worker_has_sessions'],
  ),
  drainWorker: action(
    'drain',
    {
      summary: 'Drain a worker',
      description: 'Places no new sessions, waits for the current ones to end, then stops or terminates the worker.',
    },
    DrainWorker,
    ['worker_not_running', 'worker_terminating', 'worker_protected'],
  ),
  cancelDrainWorker: action(
    'cancel-drain',
    { summary: 'Cancel a drain', description: 'Ends the drain. New sessions can be placed on the worker again.' },
    ActionReason,
  ),
  refreshWorker: action(
    'refresh',
    { summary: 'Refresh a worker', description: 'Reads EC2, CML and the labs of the worker now.' },
    ActionReason,
    ['worker_terminating'],
  ),
  retryWorker: action(
    'retry',
    {
      summary: 'Retry a FAILED worker',
      description: 'Clears the failure and tries again to reach the requested status.',
    },
    ActionReason,
    ['worker_not_failed', 'worker_terminating'],
  ),
  approveWorker: action(
    'approve',
    {
      summary: 'Approve the machine of a worker',
      description:
        'Lets a machine that LCM did not launch get its password, its license and sessions. With a fingerprint, only if its CML ' +
        'shows that certificate; otherwise the next one that it shows is pinned.',
    },
    ApproveWorker,
    ['certificate_mismatch'],
  ),
  repinWorker: action(
    'repin',
    {
      summary: 'Pin a new CML certificate',
      description:
        'Pins another certificate, such as that of a reinstalled CML. Refused unless the CML showed it last.',
    },
    RepinWorker,
    ['worker_terminating', 'worker_not_trusted', 'certificate_mismatch'],
  ),
} as const satisfies Record<string, RouteSpec>

export const WORKER_ROUTES = {
  listWorkers: {
    method: 'GET',
    path: '/workers',
    summary: 'List workers',
    description: `Returns workers. Terminated workers are omitted by default. ${NARROW_WORKER}`,
    access: EVERYONE,
    query: WorkerQuery,
    status: 200,
    answer: WorkerList,
    problems: [],
  },
  createWorker: {
    method: 'POST',
    path: '/workers',
    summary: 'Create a worker',
    description: 'Creates a worker from a template. The worker-controller launches its machine.',
    access: OPERATORS,
    body: CreateWorker,
    status: 201,
    answer: WorkerView,
    location: '/workers/{id}',
    idempotent: true,
    problems: ['template_not_found', 'template_disabled', 'region_not_configured'],
  },
  getWorker: {
    method: 'GET',
    path: '/workers/{id}',
    params: WORKER_ID,
    summary: 'Get a worker',
    description: `Returns one worker. ${NARROW_WORKER}`,
    access: EVERYONE,
    status: 200,
    answer: WorkerView,
    problems: ['not_found'],
  },
  patchWorker: {
    method: 'PATCH',
    path: '/workers/{id}',
    params: WORKER_ID,
    summary: 'Update a worker',
    description: 'Renames, tags, labels, protects or cordons a worker.',
    access: OPERATORS,
    body: PatchWorker,
    status: 200,
    answer: WorkerView,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch'],
  },
  deleteWorker: {
    method: 'DELETE',
    path: '/workers/{id}',
    params: WORKER_ID,
    summary: 'Delete the record of a TERMINATED worker',
    description: 'Deletes the record. Terminate the worker first.',
    access: OPERATORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'worker_not_terminated', 'version_mismatch'],
  },
  ...WORKER_ACTIONS,
  putWorkerLicense: {
    method: 'PUT',
    path: '/workers/{id}/license',
    params: WORKER_ID,
    summary: 'Register a license',
    description:
      'Registers a license with the CML of the worker. Without a token the worker takes a seat of the license pool of the ' +
      'product. The token is write-only.',
    access: OPERATORS,
    body: PutLicense,
    status: 202,
    answer: WorkerView,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'worker_terminating', 'license_pool_missing', 'illegal_transition'],
  },
  deleteWorkerLicense: {
    method: 'DELETE',
    path: '/workers/{id}/license',
    params: WORKER_ID,
    summary: 'Return the license',
    description: 'Deregisters the license from the CML of the worker.',
    access: OPERATORS,
    status: 202,
    answer: WorkerView,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'worker_terminating'],
  },
  putWorkerCredentials: {
    method: 'PUT',
    path: '/workers/{id}/credentials',
    params: WORKER_ID,
    summary: 'Set the CML login of a worker',
    description: 'Sets the login that controllers use for the CML of this worker. Write-only.',
    access: OPERATORS,
    body: PutCredentials,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
  getWorkerHistory: pastOf(
    'history',
    {
      summary: 'List status changes of a worker',
      description: `Returns the status changes, newest first. ${NARROW_REASONS}.`,
    },
    WorkerHistory,
  ),
  getWorkerDecisions: pastOf(
    'decisions',
    {
      summary: 'List decisions about a worker',
      description:
        'Returns what controllers decided about the worker and why, newest first. ' +
        `${NARROW_REASONS}, and no facts that were seen.`,
    },
    DecisionList,
  ),
  getWorkerMetrics: pastOf(
    'metrics',
    {
      summary: 'List measurements of a worker',
      description: 'Returns CPU, memory, disk and network use, newest first.',
    },
    MetricsList,
  ),
  getWorkerActivity: {
    method: 'GET',
    path: '/workers/{id}/activity',
    params: WORKER_ID,
    summary: 'Get the activity of a worker',
    description:
      'Returns the latest user activity and the idle policy that applies to the worker. Users and authors get no events.',
    access: EVERYONE,
    status: 200,
    answer: WorkerActivity,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>
