import { LAB_EVENTS_MAX } from '@lcm/domain/fleet/activity-evidence'
import { UNREADABLE } from '@lcm/domain/fleet/decide-idle'
import { Instant } from '@lcm/domain/instant'
import { DecisionNote } from '@lcm/domain/journal-records'
import { Reason } from '@lcm/domain/reason'
import { HourlyUsd } from '@lcm/domain/template/worker-template'
import { LaunchAttempt, WorkerChanges, WorkerName } from '@lcm/domain/worker/worker'
import { ActivityEvent, Labels } from '@lcm/domain/worker/worker-field-schemas'
import { z } from 'zod'
import { CML_CONTROLLERS, type RouteSpec, SCHEDULER, WORKER_CONTROLLER } from './route-spec.ts'
import { WorkerSample, WorkerView } from './worker.ts'
import { WORKER_ID } from './worker-routes.ts'

const decision = DecisionNote.meta({ description: 'The decision behind the write.' })

export const ReportStatus = z
  .strictObject({
    changes: WorkerChanges.meta({
      description: 'Changed fields; omitted fields stay as they are.',
      example: { status: 'RUNNING', service_status: 'AVAILABLE' },
    }),
    decision,
  })
  .meta({ id: 'ReportStatus', description: 'What the worker-controller observed or did.' })

export const OpenLaunchAttempt = z
  .strictObject({ attempt: LaunchAttempt.meta({ description: 'The attempt to store.' }), decision })
  .meta({ id: 'OpenLaunchAttempt', description: 'A launch attempt to store before EC2 is called.' })

export const WorkerSecrets = z
  .object({
    license_token: z.string().nullable().meta({ description: 'The license token.', example: null }),
    cml_username: z.string().nullable().meta({ description: 'The CML user name.', example: 'admin' }),
    cml_password: z.string().nullable().meta({ description: 'The CML password.', example: null }),
  })
  .meta({ id: 'WorkerSecrets', description: 'The secrets of a worker, for controllers only; null where none was set.' })

export const StopLabs = z
  .strictObject({
    reason: Reason.meta({ description: 'Why the labs must stop: the refusal of CML.' }),
  })
  .meta({ id: 'StopLabs', description: 'A request to stop the labs of a worker.' })
export const StopLabsAnswer = z
  .object({ stopping: z.int().meta({ description: 'The number of labs that are being stopped.', example: 2 }) })
  .meta({ id: 'StopLabsAnswer', description: 'The labs that are being stopped.' })

const LabEvent = z.strictObject({
  lab_id: z.string().max(64).meta({ description: 'The CML lab id.', example: 'b3f5c0aa' }),
  at: Instant.meta({ description: 'When it happened.' }),
  category: z.string().max(64).meta({ description: 'The event category, as CML names it.', example: 'start_lab' }),
})

export const IdleCheck = z
  .strictObject({
    evidence: z
      .strictObject({
        last_activity_at: Instant.nullable().meta({ description: 'The latest user activity; null if unknown.' }),
        running_nodes: z.int().nonnegative().nullable().meta({
          description: 'The number of running lab nodes; null if unknown.',
          example: 0,
        }),
        events: z.array(ActivityEvent).max(100).default([]).meta({ description: 'The latest events.' }),
        lab_events: z.array(LabEvent).max(LAB_EVENTS_MAX).default([]).meta({
          description: 'The newest event of each lab that names no user. The API excludes the labs of LCM itself.',
        }),
      })
      .nullable()
      .meta({ description: 'What CML telemetry shows; null if it could not be read, which never counts as idle.' }),
    unreadable: z.enum(UNREADABLE).nullable().default(null).meta({
      description: 'Why CML refused to give evidence; null if it did not refuse.',
    }),
  })
  .meta({ id: 'IdleCheck', description: 'Evidence of user activity on a worker.' })
export const IdleAnswer = z
  .object({
    verdict: z.string().meta({ description: 'What the idle policy decided.', example: 'active' }),
    because: Reason.meta({ description: 'The reason.' }),
    guards: DecisionNote.shape.guards,
    worker: WorkerView.meta({ description: 'The worker after the check.' }),
  })
  .meta({ id: 'IdleAnswer', description: 'The result of an idle check.' })

export const ResumeWorker = z
  .strictObject({
    session_ids: z
      .array(z.string().max(64))
      .min(1)
      .max(1000)
      .meta({
        description: 'The sessions that wait for the worker.',
        example: ['ls-5k1r2m3n8pq4t'],
      }),
    reason: Reason.meta({ description: 'The reason.' }),
  })
  .meta({ id: 'ResumeWorker', description: 'A request to start a worker that a policy stopped.' })

export const RetireWorker = z
  .strictObject({ reason: Reason.meta({ description: 'The reason.' }) })
  .meta({ id: 'RetireWorker', description: 'A request to terminate a stopped worker that the plan does not need.' })

export const InstanceId = z
  .string()
  .regex(/^i-[0-9a-f]{4,32}$/, 'an instance id')
  .meta({ id: 'InstanceId', description: 'An EC2 instance id.', example: 'i-0a1b2c3d4e5f60718' })

const fact = (max: number, description: string, example: string) =>
  z.string().max(max).nullable().meta({ description, example })

export const ImportWorker = z
  .strictObject({
    ec2_instance_id: InstanceId.meta({ description: 'The EC2 instance id.' }),
    aws_region: z.string().min(1).max(64).meta({ description: 'The AWS region.', example: 'us-east-1' }),
    name: WorkerName.meta({ description: 'The name of the machine.', example: 'found-1' }),
    template_name: z.string().max(64).default('imported').meta({ description: 'The template to record.' }),
    status: z.enum(['PROVISIONING', 'STARTING', 'STOPPED']).meta({
      description: 'The observed status.',
      example: 'STARTING',
    }),
    instance_type: fact(64, 'The EC2 instance type.', 'm5zn.metal'),
    ami_id: fact(64, 'The image it was launched from.', 'ami-0a1b2c3d4e5f60718'),
    launch_template_id: fact(64, 'The launch template it was launched from.', 'lt-0a1b2c3d4e5f60718').default(null),
    availability_zone: fact(64, 'The availability zone.', 'us-east-1a'),
    public_ip: fact(64, 'The public IP address.', '203.0.113.17'),
    private_ip: fact(64, 'The IP address inside the VPC.', '10.0.1.17'),
    https_endpoint: fact(500, 'The base URL of CML.', 'https://203.0.113.17'),
    cml_version: fact(64, 'The CML version.', '2.9.1'),
    certificate_sha256: fact(64, 'The certificate that CML showed.', 'ab'.repeat(32)).default(null),
    tags: z.record(z.string(), z.string()).default({}).meta({ description: 'The EC2 tags.' }),
    labels: Labels.default({}).meta({ description: 'Labels for grouping and filtering.' }),
    cost_per_hour_usd: HourlyUsd.exactOptional().meta({
      description: 'Ignored: the price follows from the instance type. Controllers of version 0.1 send it.',
    }),
  })
  .meta({ id: 'ImportWorker', description: 'A machine on EC2 that has no worker yet.' })

const guardedWrite = <M extends 'PATCH' | 'POST', const P extends string, B extends z.ZodType>(
  route: { method: M; path: P; summary: string; description: string },
  body: B,
) =>
  ({
    ...route,
    params: WORKER_ID,
    access: WORKER_CONTROLLER,
    body,
    status: 200,
    answer: WorkerView,
    ifMatch: 'required',
    fenced: true,
    problems: ['not_found', 'illegal_transition', 'version_mismatch', 'already_exists'],
  }) as const satisfies RouteSpec

/** Routes that only controllers may call. */
export const WORKER_CONTROLLER_ROUTES = {
  reportWorkerStatus: guardedWrite(
    {
      method: 'PATCH',
      path: '/workers/{id}/status',
      summary: 'Report the status of a worker',
      description: 'Stores what the worker-controller observed or did.',
    },
    ReportStatus,
  ),
  openLaunchAttempt: guardedWrite(
    {
      method: 'POST',
      path: '/workers/{id}/launch-attempts',
      summary: 'Store a launch attempt',
      description: 'Stores an attempt before EC2 is called. The previous attempt must be closed.',
    },
    OpenLaunchAttempt,
  ),
  reportWorkerMetrics: {
    method: 'POST',
    path: '/workers/{id}/metrics',
    params: WORKER_ID,
    summary: 'Report a measurement',
    description: 'Stores one measurement of a worker.',
    access: WORKER_CONTROLLER,
    body: WorkerSample,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
  checkWorkerIdle: {
    method: 'POST',
    path: '/workers/{id}/idle-checks',
    params: WORKER_ID,
    summary: 'Check whether a worker is idle',
    description: 'Applies the idle policy to the evidence. The policy may stop or drain the worker.',
    access: WORKER_CONTROLLER,
    body: IdleCheck,
    status: 200,
    answer: IdleAnswer,
    fenced: true,
    problems: ['not_found'],
  },
  stopWorkerLabs: {
    method: 'POST',
    path: '/workers/{id}/lab-stops',
    params: WORKER_ID,
    summary: 'Stop labs that block the return of a license',
    description: 'Requests that all running labs of a worker stop, so that its license can be returned.',
    access: WORKER_CONTROLLER,
    body: StopLabs,
    status: 200,
    answer: StopLabsAnswer,
    fenced: true,
    problems: ['not_found', 'illegal_transition'],
  },
  importWorker: {
    method: 'POST',
    path: '/workers/imports',
    summary: 'Import a machine',
    description: 'Records a machine that was discovered on EC2 as a worker.',
    access: WORKER_CONTROLLER,
    body: ImportWorker,
    status: 201,
    alsoStatus: { status: 200, meaning: 'a worker for this machine exists already' },
    answer: WorkerView,
    location: '/workers/{id}',
    fenced: true,
    problems: ['region_not_configured'],
  },
  getWorkerSecrets: {
    method: 'GET',
    path: '/workers/{id}/secrets',
    params: WORKER_ID,
    summary: 'Get the secrets of a worker',
    description:
      'Returns the CML login of a worker, and to the worker-controller also its license token. The first read of each ' +
      'controller in an hour is recorded in the audit log.',
    access: CML_CONTROLLERS,
    status: 200,
    answer: WorkerSecrets,
    problems: ['not_found', 'worker_not_trusted'],
  },
  resumeWorker: {
    method: 'POST',
    path: '/workers/{id}/resume',
    params: WORKER_ID,
    summary: 'Resume a worker',
    description: 'Starts a worker that a policy stopped, for sessions that wait.',
    access: SCHEDULER,
    body: ResumeWorker,
    status: 200,
    answer: WorkerView,
    fenced: true,
    problems: ['not_found', 'worker_held', 'worker_terminating', 'budget_exceeded'],
  },
  retireWorker: {
    method: 'POST',
    path: '/workers/{id}/retire',
    params: WORKER_ID,
    summary: 'Retire a worker',
    description:
      'Terminates a stopped worker that the scale-up policy bought and that the plan does not need. Refused unless ' +
      '`terminate_sleeping` is on, and while anything holds the worker.',
    access: SCHEDULER,
    body: RetireWorker,
    status: 200,
    answer: WorkerView,
    fenced: true,
    problems: ['not_found', 'worker_held'],
  },
} as const satisfies Record<string, RouteSpec>
